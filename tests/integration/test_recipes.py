# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The recipes of ARCHITECTURE.md ("To add .."), followed in a copy of the tree: what they name is enough, and what was added works.

Each test adds one thing by the recipe's steps and by no others, builds, lets the house's checks judge the tree, and uses it on fmsim.
What a folder's budget does not hold is raised in tests/budget, as the recipe of each growing folder says.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import textwrap

import pytest

from fabric import Fabric, poll

pytestmark = pytest.mark.long
ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent


class Tree:
    def __init__(self, folder):
        self.folder = folder
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
        for name in listed.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def run(self, *command, ok=True, **environment):
        mine = {name: value for name, value in os.environ.items() if name not in ("ONLY", "SHUFFLE")}  # which tests this run selects
        made = subprocess.run([str(c) for c in command], cwd=self.folder, capture_output=True, text=True, timeout=900,
                              env={**mine, "FMD_BIN": str(self.folder / "build"), **environment})
        assert not ok or made.returncode == 0, f"{command}:\n{made.stdout[-3000:]}{made.stderr[-3000:]}"
        return made

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */\n" + textwrap.dedent(text).lstrip("\n"))
        self.run("clang-format", "-i", path)

    def put(self, name, before, text):
        """Text ahead of what matches first there."""
        path, found = self.folder / name, 0
        old = path.read_text()
        new, found = re.subn(before, lambda m: text + m[0], old, count=1, flags=re.M)
        assert found, f"{name}: no {before}"
        path.write_text(new)

    def raise_budgets(self):
        """The folders that grew, by what the check says of them; a figure of the whole tree is not to be raised."""
        budget = self.folder / "tests/budget"
        for folder, now in re.findall(r"^tests/budget: (folder \S+): .*?(\d+)", self.run("tests/check-sizes", ".", ok=False).stdout, re.M):
            text, found = re.subn(rf"^{folder} \d+", f"{folder} {now}", budget.read_text(), flags=re.M)
            budget.write_text(text if found else f"{text}{folder} {now}\n")

    def build(self):
        self.run("make", "-s", "-j2", "all", WERROR="1")
        self.raise_budgets()
        for check in ("layers", "sizes", "headers"):
            self.run(f"tests/check-{check}", ".")
        self.run("tests/check-calls", "build/release")

    def unit(self, *names):
        tests = [str(next((self.folder / "tests/unit").rglob(f"{name}.c")).relative_to(self.folder)) for name in names]
        self.run("make", "-s", "-j2", "unit", f"TESTS={' '.join(tests)}")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree").mkdir()
    return Tree(tmp_path / "tree")


@pytest.fixture
def managed(tree, tmp_path, monkeypatch, pod_net):
    """managed(key=value ..): a small pod that the fmd of the copy manages."""
    begun = []

    def begin(**conf):
        monkeypatch.setenv("FMD_BIN", str(tree.folder / "build"))
        fabric = Fabric(tmp_path, pod_net, rig="fmsim", **conf)
        begun.append(fabric)
        fabric.start_fmd()
        fabric.wait_up()
        return fabric
    yield begin
    for fabric in begun:
        fabric.stop()


def test_a_configuration_key_is_a_row_a_field_and_a_text(tree):
    tree.put("fm/conf/conf_table.c", r"\tINT_OPTION\(\"audit_rate\"", '\tINT_OPTION("recipe_blocks", audit.recipe_blocks, 0, 9, 3, "blocks"),\n')
    tree.put("fm/conf/conf.h", r"\tint after_ms; /\* of idleness", "\tint recipe_blocks; /* a key of a test */\n")
    tree.put("etc/fmd.conf", "^# How many seconds after the last change", "# How many blocks a test asks for, 0 to 9.\n#recipe_blocks = 3;\n\n")
    tree.build()
    tree.unit("test_conf")
    conf = tree.folder / "fmd.conf"
    conf.write_text("recipe_blocks = 9;\n")
    tree.run("build/fmd", "--check-config", conf)
    conf.write_text("recipe_blocks = 10;\n")
    refused = tree.run("build/fmd", "--check-config", conf, ok=False)
    assert refused.returncode == 1 and "recipe_blocks" in refused.stderr and ":1" in refused.stderr


def test_a_command_is_a_file_a_row_and_its_texts(tree, managed):
    tree.write("fm/control/answer_recipe.c", """
        /* answer_recipe: how many switches there are. */
        #include "fm/control/answer.h"

        static json_t *answer_recipe(const struct command_env *env, json_t *args, char *err)
        {
                const struct topo *t = command_topo(env, err);

                return t ? json_pack("{si}", "switches", (int)t->nswitches) : NULL;
        }

        const struct command_run recipe_run = { .answer = answer_recipe };
        """)
    tree.put("fm/control/commands.def", r'^COMMAND\("lft"',
             'COMMAND("recipe", "", "the number of switches", recipe_run, by_row, .read_only = true, .document = "")\n')
    tree.put("etc/fmctl.1", r'^\.TP\n\.BI lft', '.TP\n.B recipe\nThe number of switches.\n')
    tree.build()
    tree.unit("test_command_table")
    tree.run("pytest-3", "-q", "-p", "no:cacheprovider", "tests/integration/test_command_list.py")
    assert managed().ask("recipe") == {"switches": 12}


def test_an_sa_record_is_its_components_and_functions_and_a_row(tree, managed):
    attribute = 0xFF0A
    tree.write("fm/sa/record_recipe.c", f"""
        /* record_recipe: LID and number of ports of each switch. */
        #include "fm/sa/sa_impl.h"

        static const uint16_t comps[] = {{ WIRE_LID | 16, 16 }};

        static void emit(struct sa_query *q, uint32_t item)
        {{
                const struct topo_node *node = &q->sa->view.topo->nodes[item];

                sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, node->port0), node->nports), "", 0);
        }}

        SA_RECORD_TO_READ(recipe, 0x{attribute:04x}, comps, sa_walk_switches, emit)
        """)
    tree.put("fm/sa/sa_query.h", r"^\tROW\(lft\)", "\tROW(recipe) \\\n")
    tree.run("clang-format", "-i", tree.folder / "fm/sa/sa_query.h")
    tree.build()
    tree.unit("test_wire_sa", "test_sa_random")
    fabric = managed()
    switch = fabric.ask("switches")[0]
    asks = (f"import sys; sys.path.insert(0, {str(HERE)!r}); import sa_client, struct; c = sa_client.Client(int(sys.argv[1], 0)); "
            f"c.send((struct.pack('>BBBBHHQHHI', 1, 3, 2, 1, 0, 0, 1, {attribute}, 0, 0) + bytes(12) + struct.pack('>QIQH', 0, 0, 1, {switch['lid']}))"
            ".ljust(256, b'\\0')); m = c.receive(); print(m[4:6].hex(), *struct.unpack_from('>HH', m, 56))")
    status, lid, ports = fabric.run("python3", "-c", asks, fabric.ask("status")["sm_lid"]).stdout.split()
    assert (status, int(lid), int(ports)) == ("0000", switch["lid"], switch["ports"])


def test_a_health_source_is_a_file_a_row_and_a_key(tree, managed):
    tree.write("fm/nvswitch/intake_recipe.c", """
        /* intake_recipe: whoever has the configured name has no NVLink. */
        #include <limits.h>
        #include <stdlib.h>
        #include "fm/nvswitch/intake_sources.h"
        #include "topology/base/mem.h"

        struct recipe {
                struct source_home *home;
                struct loop_timer *timer;
                unsigned host, number;
        };

        static void report(void *source)
        {
                struct recipe *r = source;
                struct nvswitch_verdict verdict = { 0 };

                nvswitch_verdict_add(&verdict, &(struct nvswitch_finding){
                                                       .state = NVSWITCH_FATAL, .gpu = -1, .sw = -1, .link = -1 });
                health_hear(r->home->health, r->host, r->number, &verdict, NULL, loop_now_us(r->home->loop));
                r->home->heard(r->home);
                loop_timer_set(r->timer, 1000000);
        }

        static void *recipe_open(struct source_home *home, const struct conf_nvswitch *conf, char *err)
        {
                struct recipe *r = mem_alloc(1, sizeof(*r));

                *r = (struct recipe){ .home = home, .timer = loop_timer_new(home->loop, report, r) };
                return r;
        }

        static void recipe_close(void *source)
        {
                loop_timer_free(((struct recipe *)source)->timer);
                free(source);
        }

        static void recipe_announce(void *source)
        {
                struct recipe *r = source;

                r->host = health_find(r->home->health, r->home->conf->recipe_host);
                if (r->host == UINT_MAX)
                        return;
                r->number = health_source_add(r->home->health, r->host, "recipe", NVSWITCH_PROVEN);
                loop_timer_set(r->timer, 10000);
        }

        static bool recipe_hosts(void *source)
        {
                return true;
        }

        const struct source_ops source_recipe = { .name = "recipe",
                                                  .texts = { SOURCE_TEXT(recipe_host) },
                                                  .open = recipe_open,
                                                  .close = recipe_close,
                                                  .announce = recipe_announce,
                                                  .hosts = recipe_hosts };
        """)
    tree.put("fm/nvswitch/intake_sources.h", r"^/\* ---- Health reports", "extern const struct source_ops source_recipe;\n\n")
    tree.put("fm/nvswitch/intake_sources.c", "&source_aliases }", "&source_recipe, ")
    tree.run("clang-format", "-i", tree.folder / "fm/nvswitch/intake_sources.c")
    tree.put("fm/conf/conf_table.c", r'\tTEXT_OPTION\("log_socket"', '\tTEXT_OPTION("recipe_host", nvswitch.recipe_host, ""),\n')
    tree.put("fm/conf/conf.h", r"\tint system;\s+/\* enum nvswitch_system", "\tchar recipe_host[64];\n")
    tree.put("etc/fmd.conf", "^# Other names of hosts in logs", '# A host that has no NVLink.\n#recipe_host = "";\n\n')
    tree.build()
    tree.unit("test_conf")
    fabric = managed(recipe_host="dgx-su01-02")
    hosts = poll(lambda: [h for h in fabric.ask("nvswitch")["hosts"] if h["observed"] == "FATAL"], "the source's host is FATAL")
    assert [h["host"] for h in hosts] == ["dgx-su01-02"]
    assert fabric.ask("nvswitch")["summary"]["inputs"]["recipe"] is True


def add_room(tree, source):
    tree.write("fm/recipe/module.h", """
        /* module: counts publications, as a room (fm/fabric/module.h). */
        #pragma once

        #include "fm/fabric/module.h"

        extern const struct fabric_module recipe_module;
        """)
    tree.write("fm/recipe/module.c", source)
    tree.put("fm/rooms.c", r"^\t\{ \.module = &audit_module", "\t{ .module = &recipe_module },\n")
    tree.put("fm/rooms.c", r'^#include "fm/registrations/module.h"', '#include "fm/recipe/module.h"\n')
    tree.put("tests/check-layers", r'^    "registrations",', '    "recipe",\n')


def test_a_room_is_a_folder_a_row_and_a_test(tree, managed):
    add_room(tree, """
        #include "fm/recipe/module.h"
        #include <stdlib.h>
        #include "topology/base/mem.h"

        struct recipe_room {
                int published;
        };

        static void *init(struct fabric *fabric)
        {
                return mem_alloc(1, sizeof(struct recipe_room));
        }

        static void fini(void *room)
        {
                free(room);
        }

        static void published(void *room, enum fabric_update_step step, const struct topo *before)
        {
                struct recipe_room *r = room;

                r->published += step == FABRIC_PUBLISHED;
        }

        static void status(const void *room, json_t *doc)
        {
                json_object_set_new(doc, "publications", json_integer(((const struct recipe_room *)room)->published));
        }

        const struct fabric_module recipe_module = {
                .name = "recipe",
                .init = init,
                .fini = fini,
                .published = published,
                .status = status,
        };
        """)
    tree.write("tests/unit/fm/recipe/test_recipe_room.c", """
        /* Publications are counted, and nothing else is. */
        #include <setjmp.h>
        #include <stdarg.h>
        #include <stddef.h>
        #include <stdint.h>
        #include <cmocka.h>
        #include "fm/recipe/module.h"
        #include "tests/lib/fake_pipe.h"
        #include "topology/snapshot/topo_builder.h"

        static void a_publication_counts(void **state)
        {
                struct fabric f;
                json_t *doc = json_object();

                fake_pipe_init(&f, &recipe_module, topo_freeze(topo_builder_new()));
                recipe_module.published(f.room, FABRIC_SHOWN, NULL);
                recipe_module.published(f.room, FABRIC_PUBLISHED, NULL);
                recipe_module.status(f.room, doc);
                assert_int_equal(json_integer_value(json_object_get(doc, "publications")), 1);
                json_decref(doc);
                fake_pipe_fini(&f);
        }

        int main(void)
        {
                const struct CMUnitTest tests[] = { cmocka_unit_test(a_publication_counts) };

                return cmocka_run_group_tests(tests, NULL, NULL);
        }
        """)
    tree.build()
    tree.run("make", "-s", "unit", "TESTS=tests/unit/daemon/test_fabric_trace.c", TRACE="write")
    tree.unit("test_recipe_room", "test_fabric_trace")
    assert managed().ask("status")["publications"] >= 1


def test_a_kind_of_state_is_a_row_a_struct_and_a_line(tree, managed):
    add_room(tree, """
        #include "fm/recipe/module.h"
        #include <stdlib.h>
        #include "fm/state/state.h"
        #include "topology/base/mem.h"

        struct recipe_room {
                struct fabric *fabric;
                struct fabric_services services;
                int published, before; /* before: when this fmd began */
        };

        static bool take_line(void *room, const char *line)
        {
                struct recipe_room *r = room;
                bool good = sscanf(line, "count %d", &r->before) == 1;

                r->published = r->before;
                return good;
        }

        static const struct state_kind recipe_kind = { .name = "recipe", .form = "`count N`", .line = take_line };

        static void *init(struct fabric *fabric)
        {
                struct recipe_room *r = ROOM_NEW(r, fabric);

                return r;
        }

        static void load(void *room, enum fabric_load_step step)
        {
                struct recipe_room *r = room;

                if (step == FABRIC_LOAD)
                        state_read(r->services.state, &recipe_kind, r);
        }

        static void published(void *room, enum fabric_update_step step, const struct topo *before)
        {
                struct recipe_room *r = room;
                char line[32];

                if (step != FABRIC_PUBLISHED)
                        return;
                snprintf(line, sizeof(line), "count %d", ++r->published);
                state_put(r->services.state, &recipe_kind, r, line);
        }

        static void status(const void *room, json_t *doc)
        {
                const struct recipe_room *r = room;

                json_object_set_new(doc, "publications", json_pack("[i, i]", r->before, r->published));
        }

        const struct fabric_module recipe_module = {
                .name = "recipe",
                .init = init,
                .fini = free,
                .load = load,
                .published = published,
                .status = status,
        };
        """)
    tree.put("fm/state/rows.c", r'^\t\{ \.name = "sa_key"', '\t{ .name = "recipe", .words = 1 }, /* count: how often something was published */\n')
    tree.put("etc/fmd.8", r"^\.B sa_key, guid2mkey, peer_keys", ".B recipe\nhow often the fabric was published.\n.RE\n.RS\n.TP\n")
    tree.build()
    tree.unit("test_rows", "test_state")
    fabric = managed()
    before, now = fabric.ask("status")["publications"]
    assert (before, now >= 1) == (0, True)
    poll(lambda: int(fabric.rows("recipe").get("count", 0)) >= now, "the disk has the row")
    fabric.stop_fmd(signal.SIGKILL)
    kept = int(fabric.rows("recipe")["count"])
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.ask("status")["publications"][0] == kept
