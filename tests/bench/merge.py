#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two running fabrics, each with its manager, are joined by a cable: nothing moves until it is admitted, and then what was listed.

    merge.py [--bin FOLDER] [--size HCAS] [--variants "WORD .."] [--watch S] [--json FILE]

On fmsim. What ports hold counts, no manager's word. Variants: plain; guard (each names itself alone in allowed_sm_guids, foreign_sm_action = "isolate"); two (cables);
boot (the second manager is away when the cable comes, and starts with it: its alert counts from there); peers (two managers a fabric that copy each other); opensm (the second manager is OpenSM, so
nothing is admitted). A line a variant: the seconds until each fmd raised its alert; LIDs moved in the --watch seconds behind the cable, and who is up then; LIDs that
`admit --dry-run` lists; after `admit` on both: seconds until one manager is up with all pairs of HCAs alive, LIDs that moved, and those that moved otherwise than listed.
Exit status 1 where LIDs moved before or otherwise, a dry run had no list, an alert came later than a second, a manager was not up, or the merge did not settle.
"""
import json
import os
import pathlib
import re
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

VARIANTS = "plain guard two boot peers opensm"
ALERT_S, SETTLE_S = 1, 60


def two_pods(world, size):
    """An ibnetdiscover file of two fabrics without a cable between them: GUIDs and names of the second are others."""
    path = pathlib.Path(world.dir) / f"two-{size}.net"
    if not path.exists():
        first = pathlib.Path(fabrics.generated(world, size)).read_text()
        second = re.sub(r"0002c903", "0002c904", first)
        second = re.sub(r"(?<![0-9a-f])2c903", "2c904", second)
        second = re.sub(r"(leaf|dgx)-su(\d)", lambda found: f"{found[1]}-su{chr(ord('k') + int(found[2]))}", second)
        second = re.sub(r'"(spine|core)-', r'"second-\1-', second)
        path.write_text(first + second)
    return str(path)


def port_guid(node):
    return f"0x{int(node[2:], 16) + 1:016x}"


class Trial:
    def __init__(self, world, options, variant):
        self.world, self.options, self.variant = world, options, variant
        self.row = {"variant": variant, "size": options.size}
        netfile = two_pods(world, options.size)
        self.sim = w.Fmsim(world, netfile)
        nodes = [line.split()[1] for line in self.sim.tell("state").splitlines() if line.startswith("node H-") and "Aggregation" not in line]
        half = len(nodes) // 2
        self.pods = [nodes[:half], nodes[half:]]
        count = 2 if variant == "peers" else 1
        self.sides = []
        for pod in self.pods:
            seats = [pod[0], pod[len(pod) // 2 + 5]][:count]
            conf = {}
            if variant == "guard":
                conf = {"allowed_sm_guids": [port_guid(seat) for seat in seats], "foreign_sm_action": "isolate"}
            kind = m.Opensm if variant == "opensm" and self.sides else m.Fmd
            ports = [m.free_port() for _ in seats] if count > 1 else []
            psk = m.secret(world) if ports else None
            self.sides.append([self.manager(kind, seat, ports[i:] + ports[:i], psk, conf) for i, seat in enumerate(seats)])

    def manager(self, kind, seat, ports, psk, conf):
        made = kind(self.world, self.sim, f"0x{seat[2:]}", ports, psk)
        if conf:
            with open(made.path, "a") as out:
                for key, value in conf.items():
                    out.write(f"{key} = {json.dumps(value)};\n")
        return made

    def judge(self):
        return json.loads(self.sim.tell("judge --json"))

    def lids(self):
        return m.tables(self.sim)[1]

    def masters(self):
        return [side[0] for side in self.sides]

    def bring_up(self):
        for side in self.sides:
            for manager in side:
                manager.start()
                m.until(manager.is_master if manager is side[0] else manager.stands_by, "the fabric is up", every_s=0.2)
        self.top = "core" if "core-01" in self.sim.tell("state") else "spine"
        for i in range(1, 3 if self.variant == "two" else 2):
            for prefix in ("", "second-"):
                self.sim.tell(f"unlink {prefix}{self.top}-0{i}:1")
        m.until(lambda: not self.judge()["dead"], "all pairs are alive", every_s=0.2)
        time.sleep(3)

    def plug(self):
        late = self.masters()[1] if self.variant == "boot" else None
        if late:
            late.end()
        self.before = self.lids()
        self.sim.tell("judge mark")
        plugged = time.time()
        for i in range(1, 3 if self.variant == "two" else 2):
            self.sim.tell(f"link {self.top}-0{i}:1 second-{self.top}-0{i}:1")
        if late:
            m.until(lambda: self.sides[0][0].stamps("new, and held", plugged), "the link is held", 60)
            time.sleep(0.4)  # by then the other has disabled its end
            late_since = time.time()
            late.start()
        alerts = []
        for side in self.sides:
            if side[0].kind == "fmd":
                since = late_since if side[0] is late else plugged
                found = m.until(lambda side=side: side[0].stamps("new, and held", since), "the link is held", 60)
                alerts.append(round(found[0] - since, 3))
        self.row["alerts_s"] = alerts
        time.sleep(self.options.watch)
        now, lids = self.judge(), self.lids()
        between = 2 * self.options.size ** 2  # pairs that the new cable alone connects, in Init too
        self.row.update(moved_before=sum(lids.get(end, lid) != lid for end, lid in self.before.items()), judged_moved=now["moved"],
                        dead_before=now["dead"] - (between if now["dead"] >= between else 0), up=[manager.is_master() for manager in self.masters()])
        for manager in self.masters():
            if manager.kind == "fmd":
                held = [alert["what"] for alert in manager.status()["alerts"]]
                self.row.setdefault("alerts", []).append(sorted(held))

    def admit(self):
        if self.variant == "opensm":
            return
        self.before = self.lids()
        listed, self.row["listed"] = {}, []
        for pod, manager in zip(self.pods, self.masters()):  # who was away when the cable came meets it once the other end is enabled
            m.until(lambda manager=manager: [row for row in manager.ask("held") if row["cause"] != "unseen"], "the link is held", 60)
            answer = manager.ask("admit", "all", "--dry-run")
            rows, other = answer.get("lids_to_move"), self.pods[pod is self.pods[0]][0][:12]
            self.row["listed"].append(sum(move["ours"] for move in rows) if rows is not None else answer["unread"])
            self.row.setdefault("masters", []).append(answer["master"])
            for whose, ours in ((pod[0][:12], True), (other, False)):  # what one could not read the other has listed
                if rows is not None and (ours or whose not in listed):
                    listed[whose] = {move["lid"]: move["to"] for move in rows if move["ours"] == ours}
            began = time.time()
            if not manager.ask("admit", "all"):
                raise w.BenchError(f"admit: {manager.refusal}")
        pattern = f"{m.UP} .* {2 * self.options.size} HCAs"

        def is_up():
            return [stamp for manager in self.masters() for stamp in manager.stamps(pattern, began)]

        try:
            up = m.until(is_up, "one manager is up", SETTLE_S, every_s=0.1)
            m.until(lambda: not self.judge()["dead"], "all pairs are alive", SETTLE_S, every_s=1)  # a judge of 8,192 HCAs takes its time
            settled = min(up) - began
        except w.BenchError:
            settled = None
        time.sleep(self.options.watch)
        lids, otherwise, moved = self.lids(), 0, 0
        for (node, port), lid in self.before.items():
            now = lids.get((node, port), 0)
            moved += now != lid
            second = re.match(r"[HS]-0002c904", node)
            moves = listed.get(self.pods[bool(second)][0][:12], {})
            if now != moves.get(lid, lid):
                otherwise += 1
                self.row.setdefault("first_otherwise", [node, port, lid, now, moves.get(lid)])
        self.row.update(settled_s=settled and round(settled, 2), moved=moved, otherwise=otherwise, dead=self.judge()["dead"],
                        ends=[manager.status()["sm"] if manager.runs() else "ended" for manager in self.masters()])

    def run(self):
        try:
            self.bring_up()
            self.plug()
            self.admit()
            row = self.row
            row["ok"] = (not row["moved_before"] and not row["judged_moved"] and not row["dead_before"] and all(row["up"]) and max(row["alerts_s"]) <= ALERT_S
                         and (self.variant == "opensm" or (row["settled_s"] is not None and not row["otherwise"] and not row["dead"]
                                                            and all(isinstance(count, int) for count in row["listed"]))))
            return row
        finally:
            if not self.row.get("ok"):
                self.keep()
            for side in self.sides:
                for manager in side:
                    manager.end()
            self.sim.close()

    def keep(self):
        if not self.options.keep:
            return
        folder = pathlib.Path(self.options.keep) / f"{self.options.size}-{self.variant}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("row.json").write_text(json.dumps(self.row, indent=1))
        folder.joinpath("judge").write_text(self.sim.tell("judge"))
        for i, side in enumerate(self.sides):
            for j, manager in enumerate(side):
                if manager.kind == "fmd":
                    folder.joinpath(f"log-{i}-{j}").write_text("".join(f"{when:.3f} {text}\n" for when, text in manager.log.lines))
                    folder.joinpath(f"status-{i}-{j}").write_text(json.dumps(manager.status(), indent=1))


def line(row):
    text = (f"{row['size']} {row['variant']}: {'ok' if row['ok'] else 'BAD'}: alerts after {row['alerts_s']} s; before admit {row['moved_before']} LIDs moved, "
            f"{row['dead_before']} pairs dead, up {row['up']}, alerts {row['alerts']}")
    if "listed" in row:
        text += (f"; listed {row['listed']}; admitted: {row['settled_s']} s until one manager is up, {row['moved']} moved, {row['otherwise']} otherwise than listed, "
                 f"{row['dead']} pairs dead, {row['ends']}")
    return text


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--variants", default=VARIANTS)
    parser.add_argument("--watch", type=float, default=8)
    parser.add_argument("--keep")
    options = parser.parse_args()
    world = w.World(os.path.abspath(options.bin))
    rows = []
    try:
        for variant in options.variants.split():
            try:
                rows.append(Trial(world, options, variant).run())
                print(line(rows[-1]), flush=True)
            except w.BenchError as error:
                rows.append({"variant": variant, "size": options.size, "ok": False})
                print(f"{options.size} {variant}: BAD: {error}", flush=True)
    finally:
        world.close()
    w.finish(rows, options.json)


if __name__ == "__main__":
    main()
