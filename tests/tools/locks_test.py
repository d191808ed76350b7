import re

from tests.reference.processes import ROOT

PIN = re.compile(r"([\w.-]+)==([^ ;\\]+)")


def pins(path):
    """Return {(name, version)} of a requirements file or a lock."""
    lines = path.read_text("utf-8").splitlines()
    return {found.groups() for line in lines if (found := PIN.match(line))}


def test_every_requirement_is_locked_with_hashes():
    """After a change: tools/lock_requirements.sh."""
    files = {path.name for path in ROOT.glob("requirements*.txt")}
    assert files == {path.name for path in (ROOT / "locks").iterdir()}
    for name in files:
        wanted = pins(ROOT / name)
        assert wanted and wanted <= pins(ROOT / "locks" / name), name
        text = (ROOT / "locks" / name).read_text("utf-8")
        entries = re.findall(r"^[^ ].*\n(?: .*\n)*", text, re.MULTILINE)
        assert len(entries) >= len(wanted)
        for entry in entries:
            assert PIN.match(entry) and "--hash=sha256:" in entry, entry
        assert "://" not in text and "index-url" not in text
