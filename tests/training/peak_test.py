import types

from gpt1_keras.training import peak


def test_peak_is_measured_once_and_remembered(cache, monkeypatch):
    monkeypatch.setattr(peak, "_SIZE", 64)
    # The fastest of three times four products takes a second.
    clock = iter([0.0, 9.0, 9.0, 10.0, 10.0, 12.0, 0.0, 1.0, 1.0, 2.0])
    time = types.SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(peak, "time", time)
    assert peak.read("float32") is None
    speed = peak.measure("float32", rounds=2)
    assert peak.read("float32") == speed == 4 * 2 * 64**3 / 1e9
    assert peak.read("bfloat16") is None
    other = peak.measure("bfloat16", rounds=1)
    assert (peak.read("float32"), peak.read("bfloat16")) == (speed, other)
    (path,) = cache.iterdir()
    for damaged in ("", "[1]", "{", path.read_text().replace(": ", ": -")):
        path.write_text(damaged)
        assert peak.read("float32") is None
