# SPDX-License-Identifier: MIT
"""A small tree that keeps every rule, and for each rule files that break it when laid over that tree, with
a part of what the rule must say then."""

MIT = "// SPDX-License-Identifier: MIT\n"
HEADER = MIT + "// A header with its story.\n#pragma once\n\n"
LISTING = "# SPDX-License-Identifier: MIT\nfairlead_library(fairlead_tables SOURCES a.cc DEPENDS fairlead_base)\n"

GOOD = {
    "Makefile": "# SPDX-License-Identifier: MIT\ntest:\n\ttests/run\n",
    "README.md": "# Tree\n`make test` runs the [rules](src/README.md).\n",
    "src/README.md": "# src\n",
    "src/tables/README.md": "# tables\n",
    "src/tables/CMakeLists.txt": LISTING,
    "src/tables/a.h": HEADER + '#include "base/b.h"\n',
    "src/tables/a.cc": MIT + '#include "tables/a.h"\n\n// std::cout << system("rm"); is only a comment\n'
                             'const char* text = "sprintf(strcpy)";\n',
    "src/base/README.md": "# base\n",
    "src/base/b.h": HEADER + "int b();\n",
    "src/core/README.md": "# core\n",
    "src/core/c.h": HEADER + "#ifndef FAIRLEAD_WIRE_ALIGNMENT\n#define FAIRLEAD_WIRE_ALIGNMENT 1\n#endif\n",
    "packaging/README.md": "# packaging\n",
    "packaging/dependencies.txt": "[build]\ncmake  # builds\n",
    "docs/README.md": "# docs\n",
    "docs/decisions/README.md": "# decisions\n",
    "docs/decisions/0001-dependencies.md": "# Dependencies\n`cmake` builds.\n",
}


def include(path):
    return HEADER + f'#include "{path}"\n'


BAD = {
    "files_are_at_most_600_lines": [({"src/base/b.h": HEADER + "\n" * 700}, "704 lines")],
    "lines_are_at_most_100_columns": [({"src/base/b.h": HEADER + "// " + "x" * 98 + "\n"}, "b.h:5: 101")],
    "format_is_that_of_clang_format_19": [({"src/base/b.h": HEADER + "int   b( );\n"}, "src/base/b.h")],
    "the_first_line_is_the_licence": [
        ({"src/base/b.h": "#pragma once\n"}, "src/base/b.h:1"),
        ({"src/base/b.bpf.cc": MIT}, "MIT OR GPL-2.0-only"),
        ({"tool": "#!/bin/sh\necho\n"}, "tool:1"),
    ],
    "headers_open_with_prose_and_pragma_once": [
        ({"src/base/b.h": MIT + "#pragma once\n"}, "prose"),
        ({"src/base/b.h": MIT + "// Story.\n#ifndef B_H\n#define B_H\n#endif\n"}, "no #pragma once"),
    ],
    "comments_are_no_banners": [({"src/base/b.h": HEADER + "// ---- section ----\n"}, "b.h:5: banner")],
    "includes_go_one_way": [
        ({"src/base/b.h": include("tables/a.h")}, "base must not include tables/a.h"),
        ({"src/core/c.h": include("base/b.h")}, "core must not include base/b.h"),
        ({"src/operator/cli/o.h": include("engine/e.h")}, "operator must not include engine/e.h"),
        ({"src/engine/xdp/x.h": include("engine/user/u.h")}, "do not know each other"),
        ({"src/control/bgp/g.h": include("control/config/c.h")}, "do not know each other"),
        ({"src/extra/e.h": include("base/b.h")}, "no place in the layers"),
    ],
    "includes_are_relative_to_src": [
        ({"src/tables/a.h": include("../base/b.h")}, "a.h:5"),
        ({"src/tables/a.h": include("b.h")}, "no such file below src/: b.h"),
    ],
    "the_core_has_no_conditionals": [({"src/core/c.h": HEADER + "#ifdef __bpf__\n#endif\n"}, "c.h:5: #ifdef __bpf__")],
    "every_source_is_built": [({"src/tables/lonely_test.cc": MIT}, "lonely_test.cc: no CMakeLists.txt")],
    "no_banned_calls": [
        ({"src/tables/a.cc": MIT + 'int x = system("ls");\n'}, "a.cc:2"),
        ({"src/tables/a.cc": MIT + "void f(char* a, char* b) { strcpy(a, b); }\n"}, "past the end"),
        ({"src/tables/a.cc": MIT + "int x = rand();\n"}, "seed"),
        ({"src/tables/a.cc": MIT + "using namespace std;\n"}, "write the names"),
        ({"src/tables/a.cc": MIT + "void f() { std::cout << 1; }\n"}, "only commands write"),
        ({"src/tables/a.cc": MIT + 'void f() { fmt::print("{}", 1); }\n'}, "only commands write"),
    ],
    "no_path_of_one_machine": [({"src/README.md": "see /" + "home/me/notes\n"}, "src/README.md:1")],
    "every_folder_has_a_short_readme": [
        ({"src/engine/e.h": HEADER}, "src/engine: no README.md"),
        ({"src/README.md": "line\n" * 61}, "61 lines"),
    ],
    "documented_make_targets_exist": [({"README.md": "Run `make coffee`.\n"}, "no target coffee")],
    "links_between_documents_lead_somewhere": [({"README.md": "[here](docs/nowhere.md)\n"}, "docs/nowhere.md")],
    "every_dependency_has_its_reason": [
        ({"packaging/dependencies.txt": "cmake  # builds\nleft-pad  # pads\n"}, "left-pad"),
        ({"packaging/dependencies.txt": "cmake\n"}, "no reason"),
    ],
}
