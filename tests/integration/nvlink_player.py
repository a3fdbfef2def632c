# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Machines with NVLinks, as the real exporters, kernels and switch trays speak of them. Nothing here is shared with fmd's readers.

    box = Machine("H100", "4.4.2", "box-01")      all well
    box.p2p_lost |= {(2, 0)}; box.xid[5] = 74
    box.text()                                    what dcgm-exporter answers
    xid_line("0000:5b:00", 79)                    a kernel line

Sources: labels and templates of NVIDIA/dcgm-exporter d5e5f51 (internal/pkg/rendermetrics, tags 3.3.9-3.6.1 .. 4.5.3-4.8.2); fields by DCGM
release from the history of NVIDIA/DCGM dcgmlib/dcgm_fields.h up to 72fa3fe (4.6.0); kernel lines of NVIDIA/open-gpu-kernel-modules 595.45.04
and of logs recorded by leptonai/gpud; NMX-T's line of NVIDIA/bare-metal-manager-core.
"""
import itertools

# GPUs, NVSwitches that the host itself has, NVLinks of a GPU, what DCGM says of the fabric manager when all is well
KINDS = {
    "A100": ("NVIDIA A100-SXM4-80GB", 8, 6, 12, 0),
    "H100": ("NVIDIA H100 80GB HBM3", 8, 4, 18, 3),
    "H200": ("NVIDIA H200", 8, 4, 18, 3),
    "H20": ("NVIDIA H20", 8, 4, 18, 3),
    "B200": ("NVIDIA B200", 8, 2, 18, 3),
    "GB200": ("NVIDIA GB200", 4, 0, 18, 3),
    "A100 PCIE": ("NVIDIA A100-PCIE-40GB", 8, 0, 0, None),
    "H100 NVL": ("NVIDIA H100 NVL", 8, 0, 0, None),
    "L40S": ("NVIDIA L40S", 8, 0, 0, None),
}
# What DCGM's fields are called since which release; None = no such field yet.
RELEASES = ["3.3.9", "4.2.3", "4.3.1", "4.4.2", "4.5.3", "4.6.0"]
FIELDS = {
    "xid": ["XID_ERRORS"] * 5 + ["XID_ERROR"],
    "p2p": [None, None] + ["P2P_NVLINK_STATUS"] * 3 + ["NVLINK_P2P_STATUS"],
    "mig": ["MIG_MODE"] * 6,
    "fm": [None] + ["FABRIC_MANAGER_STATUS"] * 5,
    "cluster": [None] + ["FABRIC_CLUSTER_UUID"] * 5,
    "clique": [None] + ["FABRIC_CLIQUE_ID"] * 5,
    "mask": [None] * 3 + ["FABRIC_HEALTH_MASK"] * 3,
    "summary": [None] * 5 + ["FABRIC_HEALTH_SUMMARY"],
    "recovery": [None] * 4 + ["GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION"],
    "gpu_link": [None] * 4 + ["NVLINK_GET_STATE"] * 2,
    "sxid": ["NVSWITCH_FATAL_ERRORS"] * 5 + ["SXID_FATAL_ERROR"],
    "reset": ["NVSWITCH_RESET_REQUIRED"] * 6,
    "link": ["NVSWITCH_LINK_STATUS"] * 6,
}
BLANK32, BLANK64, BLANK_DOUBLE = 2147483632, 9223372036854775792, 140737488355328
MASK_WELL, MASK_ROUTE_UNHEALTHY = 0x1AA, 0x19A


class Machine:
    def __init__(self, kind, release, host, kubernetes=False):
        self.kind, self.release, self.host, self.kubernetes = kind, release, host, kubernetes
        self.model, self.gpus, self.switches, self.links, well = KINDS[kind]
        self.asked = {what for what in FIELDS if what != "summary"}  # fields in the exporter's CSV
        self.p2p_lost = set()  # pairs of GPUs, one way
        self.p2p_blank = set()  # GPUs whose bitmap NVML can't tell: no series
        self.mig = {}  # GPU: number of instances
        self.absent = set()  # GPUs that are off the bus
        self.switches_absent = set()
        self.links_down = {}  # (switch, link): DCGM's state, or None for no series at all
        self.gpu_links_down = {}  # (GPU, link): likewise
        self.fm = {gpu: well for gpu in range(self.gpus)}
        self.mask = {gpu: MASK_WELL for gpu in range(self.gpus)}
        self.summary = {gpu: 1 for gpu in range(self.gpus)}
        self.recovery = {gpu: 0 for gpu in range(self.gpus)}
        self.xid, self.xid_counts = {}, {}  # GPU: the last one; (GPU, Xid): how many in five minutes
        self.health = {}  # GPU: (watch, code, 0, 10 or 20)
        self.pairs = False  # DCGM_EXP_P2P_STATUS
        self.sxid, self.reset = {}, {}
        self.extra = ""

    # ---- How they write

    def name(self, what):
        found = FIELDS[what][RELEASES.index(self.release)]
        return found and what in self.asked and f"DCGM_FI_DEV_{found}"

    def newer(self, release):
        return RELEASES.index(self.release) >= RELEASES.index(release)

    def host_label(self):
        return {"hostname" if self.newer("4.6.0") else "Hostname": self.host}

    def gpu_labels(self, gpu, instance=None):
        cut = {} if instance is None else {"GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": 7 + instance}
        driver = "DCGM_FI_SYSTEM_DRIVER_VERSION" if self.newer("4.6.0") else "DCGM_FI_DRIVER_VERSION"
        pod = {"container": "trainer", "namespace": "research", "pod": f"job-{gpu}-worker-0"} if self.kubernetes else {}
        return {"gpu": gpu, "UUID": f"GPU-{gpu:08x}-0000-0000-0000-000000000000", "pci_bus_id": f"00000000:{bus(gpu)}:00.0",
                "device": f"nvidia{gpu}", "modelName": self.model, **cut, **self.host_label(), driver: "570.133.20", **pod}

    def family(self, name, rows, kind="gauge"):
        """rows: (labels, value)"""
        rows = list(rows)
        if not name or not rows:
            return ""
        said = [f"# HELP {name} {name.lower()}\n# TYPE {name} {kind}\n"]
        said += [name + "{" + ",".join(f'{key}="{text}"' for key, text in labels.items()) + f"}} {value}\n" for labels, value in rows]
        return "".join(said)

    def present(self):
        return [gpu for gpu in range(self.gpus) if gpu not in self.absent]

    def by_gpu(self, what, values):
        """A series an instance where a GPU is cut up, else one."""
        return self.family(self.name(what), (
            (self.gpu_labels(gpu, instance), values[gpu]) for gpu in self.present() if values.get(gpu) is not None
            for instance in (range(self.mig[gpu]) if self.mig.get(gpu) else [None])))

    # ---- What they tell

    def reaches(self, gpu, peer):
        cut = gpu in self.mig or peer in self.mig or {gpu, peer} & self.absent
        return self.switches + (self.kind == "GB200") > 0 and not cut and (gpu, peer) not in self.p2p_lost and gpu != peer

    def bitmaps(self):
        return {gpu: sum(1 << peer for peer in range(self.gpus) if self.reaches(gpu, peer))
                for gpu in self.present() if gpu not in self.p2p_blank}

    def pair_rows(self):
        for gpu, peer in itertools.permutations(self.present(), 2):
            status = 0 if self.reaches(gpu, peer) else 3
            yield {**self.gpu_labels(gpu), "peer_gpu": peer, "link_status": "OK" if not status else "TOPOLOGY_NOT_SUPPORTED"}, status

    def off_in_mig(self):
        """NVLinks of a switch that are trained off since GPUs are cut up: on A100 only."""
        return self.links // max(self.switches, 1) * len(self.mig) if self.kind == "A100" else 0

    def switch_links(self):
        """An exporter does not know links that were not up when it began."""
        for switch in range(self.switches):
            if switch in self.switches_absent:
                continue
            count = self.gpus * self.links // self.switches - self.off_in_mig()
            for link in range(count):
                state = self.links_down.get((switch, link), 2)
                if state is not None:
                    yield {"nvlink": link, "nvswitch": f"nvswitch{switch}", **self.host_label()}, state

    def gpu_links(self):
        for gpu in self.present():
            for link in range(self.links if not (self.kind == "A100" and gpu in self.mig) else 0):
                state = self.gpu_links_down.get((gpu, link), 1)
                if state is not None:
                    yield {"nvlink": link, "gpu": gpu, "gpu_uuid": f"GPU-{gpu:08x}-0000-0000-0000-000000000000",
                           "pci_bus_id": f"00000000:{bus(gpu)}:00.0", "device": f"nvidia{gpu}", "model_name": self.model,
                           **self.host_label()}, state

    def switch_rows(self, values):
        return (({"nvswitch": f"nvswitch{switch}", **self.host_label()}, value) for switch, value in values.items())

    def default_fields(self):
        newer = self.newer("4.6.0")
        names = ("SM_CLOCK_HZ", "MEM_CLOCK_HZ", "GPU_TEMP_CELSIUS", "BOARD_POWER_WATTS", "FB_USED", "NVLINK_THROUGHPUT_TOTAL") if newer \
            else ("SM_CLOCK", "MEM_CLOCK", "GPU_TEMP", "POWER_USAGE", "FB_USED", "NVLINK_BANDWIDTH_TOTAL")
        return "".join(self.family(f"DCGM_FI_DEV_{name}", (
            (self.gpu_labels(gpu, instance), 1000 + gpu) for gpu in self.present()
            for instance in (range(self.mig[gpu]) if self.mig.get(gpu) else [None])))
            for name in names)

    def text(self):
        said = [self.default_fields(), self.by_gpu("xid", self.xid), self.by_gpu("p2p", self.bitmaps()),
                self.by_gpu("mig", {gpu: int(gpu in self.mig) for gpu in self.present()}), self.by_gpu("fm", self.fm),
                self.by_gpu("recovery", self.recovery)]
        if self.switches or self.kind == "GB200":
            said += [self.by_gpu("mask", self.mask), self.by_gpu("summary", self.summary)]
        said.append(self.family("DCGM_EXP_XID_ERRORS_COUNT", (
            ({**self.gpu_labels(gpu), "window_size_in_ms": 300000, "xid": xid}, n) for (gpu, xid), n in self.xid_counts.items())))
        said.append(self.family("DCGM_EXP_GPU_HEALTH_STATUS", (
            ({**self.gpu_labels(gpu), "health_watch": watch, "health_error_code": code}, value)
            for gpu, (watch, code, value) in self.health.items())))
        if self.pairs:
            said.append(self.family("DCGM_EXP_P2P_STATUS", self.pair_rows()))
        if self.kind != "B200":
            said += [self.family(self.name("sxid"), self.switch_rows(self.sxid)),
                     self.family(self.name("reset"), self.switch_rows({s: self.reset.get(s, 0) for s in range(self.switches)
                                                                       if s not in self.switches_absent}))]
        said += [self.family(self.name("link"), self.switch_links()), self.family(self.name("gpu_link"), self.gpu_links())]
        return "".join(said) + self.extra


def bus(gpu):
    return ["1B", "43", "52", "61", "9D", "C3", "D1", "DF"][gpu]


# ---- Kernel lines, as from `journalctl -k`: behind the machine's name and `kernel: `


def xid_line(pci, number, words="pid='<unknown>', name=<unknown>, Ch 00000010"):
    return f"NVRM: Xid (PCI:{pci}): {number}, {words}"


def sxid_line(switch, number, words):
    return f"nvidia-nvswitch{switch}: SXid (PCI:0000:{0x85 + switch:02x}:00.0): {number:05d}, {words}"


OFF_THE_BUS = "NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."
OFF_AT_PROBE = ["NVRM: The NVIDIA GPU 0000:18:00.0", "NVRM: (PCI ID: 10de:2901) installed in this system has",
                "NVRM: fallen off the bus and is not responding to commands."]
DRIVER_START = "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"


def recovery_line(number, words, pci="0000:43:00"):
    return xid_line(pci, 154, f"GPU recovery action changed from 0x0 (None) to 0x{number:x} ({words})")


# ---- NMX-T: what a switch tray of an NVL72 says of the whole NVLink domain


def nmx_labels(**changes):
    """In the order and spelling of a recorded line; a blank stands behind each comma."""
    labels = {"Device_ID": "GB100", "port_label": "GPUP10", "logical_state": "ACT", "device_num_on_tray": "2", "board_type": "3",
              "chassis_slot_index": "27", "tray_index": "17", "topology_id": "128", "chassis_id": "1820325172739",
              "Active_FEC": "Int_KP4_FEC_PLR", "link_partner_description": "MF0;sw06:N5400_LD/U1",
              "link_partner_node_guid": "0x2c5eab0300b6a900", "link_partner_port_num": "71", "cable_vendor": "Other",
              "down_blame": "Unknown", "local_reason_opcode": "No_link_down_indication", "Node_GUID": "0xe1d04a69816f16bc",
              "node_description": "GB100 Nvidia Technologies", "Port_Number": "11", "FW_Version": "36.2014.1866"}
    return ", ".join(f'{key}="{text}"' for key, text in {**labels, **changes}.items())


def nmx_text(trays=18, downs=None, states=None, padding=0):
    """GPU ports of compute trays: downs[tray, gpu, port] counts Link_Down; states[..] is (logical_state, down_blame), None for no row."""
    downs, states, said = downs or {}, states or {}, []
    rows = []
    for tray, gpu, port in itertools.product(range(trays), range(4), range(1, 19)):
        state, blame = states.get((tray, gpu, port), ("ACT", "Unknown")) or (None, None)
        if state:
            rows.append((tray, gpu, port, nmx_labels(
                logical_state=state, down_blame=blame, device_num_on_tray=gpu + 1, tray_index=tray, chassis_slot_index=tray + 10,
                Port_Number=port, port_label=f"GPUP{port - 1}", Node_GUID=f"0xe1d04a6981{tray:04x}{gpu:02x}")))
    families = [("Link_Down", lambda t, g, p: downs.get((t, g, p), 0)), ("lid", lambda t, g, p: 3000 + t * 72 + g * 18 + p),
                ("Effective_BER", lambda t, g, p: "1.5e-254")]
    families += [(f"Raw_Errors_Lane_{lane}", lambda t, g, p: 7) for lane in range(padding)]
    for name, value in families:
        said += [f"{name}{{{labels}}}  {value(tray, gpu, port)} 1781993954087\n" for tray, gpu, port, labels in rows]
    return "".join(said)
