"""A local HTTP server that misbehaves as it is told.

    with FileServer({"a.bin": content}) as server:
        server.faults = ["drop", "corrupt"]
        ... server.url("a.bin") ...

Each request takes the next fault from `faults`; when there is none left it
answers as it should. `requests` lists the Range header of each.
"""

import http.server
import threading

FAULTS = (
    "drop",  # half of what was asked for, then the connection closes
    "reset",  # nothing at all
    "busy",  # status 503
    "corrupt",  # one byte is another
    "no ranges",  # the whole file, whatever was asked for
    "other part",  # a part that begins elsewhere
    "not satisfiable",  # status 416
    "unsized",  # without a length, closed at the end
)


class FileServer:
    """Serves `files`, a dict from name to bytes, on a free port."""

    def __init__(self, files):
        self.files = dict(files)
        self.faults = []
        self.requests = []
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), _handler_of(self)
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, name=""):
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"


def _handler_of(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *unused):
            pass

        def do_GET(self):
            asked = self.headers.get("Range")
            server.requests.append(asked)
            fault = server.faults.pop(0) if server.faults else None
            content = server.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
            elif fault == "busy":
                self.send_error(503)
            elif fault == "not satisfiable":
                self.send_error(416)
            elif fault != "reset":
                self._answer(content, asked, fault)

        def _answer(self, content, asked, fault):
            start = 0
            if asked and fault != "no ranges":
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
            body = bytearray(content[start:])
            if fault == "corrupt":
                body[len(body) // 2] ^= 1
            shown = start + 1 if fault == "other part" else start
            self.send_response(206 if start else 200)
            if start:
                last = len(content) - 1
                self.send_header(
                    "Content-Range", f"bytes {shown}-{last}/{len(content)}"
                )
            if fault != "unsized":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            half = fault == "drop"
            self.wfile.write(body[: len(body) // 2] if half else body)

    return Handler
