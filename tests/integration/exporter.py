# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A server with one exporter a path, /HOST: what dcgm-exporter says of a machine, and every way to say it badly.

    exporters = Exporters(hosts)          all well
    exporters.say("dgx-su01-05", body(lost={2: [0]}))
    exporters.behave("dgx-su01-06", endless)
    exporters.stop()

A behaviour is called with the request's handler and writes to its wfile what it likes. `asked` counts requests by host.
"""
import collections
import http.server
import re
import ssl
import threading
import time
import urllib.parse

PROMETHEUS = re.compile(r'federate\?match\[\]=\{__name__=~"DCGM_\.\*",(\w+)=~"\(\?i\)([\w.-]+)\(\[\.:\]\.\*\)\?"\}')
H100 = "NVIDIA H100 80GB HBM3"
SWITCHES, LINKS = 4, 36  # of a DGX H100: 8 GPUs with 18 links each


def series(name, labels, value):
    said = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{said}}} {value}\n"


def gpu_labels(gpu, host, old=False):
    if old:
        return {"gpu": gpu, "gpu_uuid": f"GPU-{gpu}", "model_name": H100, "Hostname": host}
    return {"gpu": gpu, "UUID": f"GPU-{gpu}", "pci_bus_id": f"00000000:{gpu:02X}:00.0", "device": f"nvidia{gpu}",
            "modelName": H100, "hostname": host}


def body(host="", lost=None, links=LINKS, old=False, padding=0, extra=""):
    """lost: peers that a GPU does not reach. links: of each NVSwitch. padding: bytes of other metrics, as exporters have."""
    lost = lost or {}
    text = ["# HELP DCGM_FI_DEV_P2P_NVLINK_STATUS P2P NVLink bitmap\n# TYPE DCGM_FI_DEV_P2P_NVLINK_STATUS gauge\n"]
    name = "DCGM_FI_DEV_P2P_NVLINK_STATUS" if not old else "DCGM_FI_DEV_NVLINK_P2P_STATUS"
    for gpu in range(8):
        reached = 255 & ~(1 << gpu) & ~sum(1 << peer for peer in lost.get(gpu, []))
        text.append(series(name, gpu_labels(gpu, host, old), reached))
        text.append(series("DCGM_FI_DEV_FABRIC_MANAGER_STATUS", gpu_labels(gpu, host, old), 3))
    for switch in range(SWITCHES):
        labels = {"nvswitch": f"nvswitch{switch}", "hostname": host}
        text.append(series("DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS", labels, 0))
        text += [series("DCGM_FI_DEV_NVSWITCH_LINK_STATUS", {"nvlink": link, **labels}, 2) for link in range(links)]
    text.append(extra)
    filler, used, index = [], 0, 0
    while used < padding:
        filler.append(series(f"DCGM_FI_PROF_METRIC_{index // 8}", gpu_labels(index % 8, host), f"{index}.25"))
        used += len(filler[-1])
        index += 1
    return "".join(text + filler)


# ---- Behaviours


def headers(handler, code=200, **fields):
    handler.send_response(code)
    for key, value in fields.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()


def says(text):
    data = text.encode() if isinstance(text, str) else text

    def answer(handler):
        headers(handler, Content_Length=len(data))
        handler.wfile.write(data)
    return answer


def chunked(text):
    def answer(handler):
        headers(handler, Transfer_Encoding="chunked")
        data = text.encode()
        handler.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
    return answer


def endless(handler):
    headers(handler)
    while True:
        handler.wfile.write(b"some_metric 1\n" * 5000)


def endless_chunk(handler):
    headers(handler, Transfer_Encoding="chunked")
    handler.wfile.write(b"7fffffff\r\n")
    while True:
        handler.wfile.write(b"some_metric 1\n" * 5000)


def long_line(handler):
    headers(handler)
    handler.wfile.write(b'DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu="0",modelName="' + b"x" * (1 << 20) + b'"} 3\n')


def binary(handler):
    says(bytes(range(256)) * 400)(handler)


def drip(handler):
    headers(handler)
    while True:
        handler.wfile.write(b"a")
        handler.wfile.flush()
        time.sleep(0.05)


def mute(handler):
    time.sleep(5)


def redirect(handler):
    headers(handler, 302, Location="http://127.0.0.2:1/dgx-su01-01", Content_Length=0)


def failing(handler):
    text = b"error gathering metrics: collected before with the same name and label values"
    headers(handler, 500, Content_Length=len(text))
    handler.wfile.write(text)


def cut_off(handler):
    text = body().encode()
    headers(handler, Content_Length=len(text))
    handler.wfile.write(text[:len(text) // 2])


def ends_within_a_line(handler):
    headers(handler)
    handler.wfile.write(body().encode()[:-10])


def no_http(handler):
    handler.wfile.write(b"\x16\x03\x01 hello\r\n\r\n")


def huge_header(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n")


def hang_up(handler):
    pass


class Exporters:
    def __init__(self, hosts, certificate=None):
        self.answers = {host: says(body(host)) for host in hosts}
        self.asked, self.token, self.label = collections.Counter(), None, None
        exporters = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                host = self.path[1:]
                asks = PROMETHEUS.fullmatch(urllib.parse.unquote(host))
                if asks:  # and samples carry times
                    exporters.label, host = asks.groups()
                exporters.asked[host] += 1
                if exporters.token and self.headers["Authorization"] != f"Bearer {exporters.token}":
                    return headers(self, 401, Content_Length=0)
                self.close_connection = True
                try:
                    exporters.answers[host](self)
                except (OSError, ssl.SSLError):
                    pass  # the asker had enough

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https" if certificate else "http"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, host):
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}/{host}"

    def write_hosts(self, path):
        path.write_text("# HOST URL [SYSTEM]\n" + "".join(f"{host} {self.url(host)}\n" for host in self.answers))
        return str(path)

    def say(self, host, text):
        self.answers[host] = says(text)

    def behave(self, host, behaviour):
        self.answers[host] = behaviour

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
