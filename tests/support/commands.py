"""Commands of ``swoop`` one after the other in one process, which share its Java: python -m tests.support.commands COMMANDS.

All but the last must end well; the process ends as the last one does.
"""

from __future__ import annotations

import json
import sys

from swoop.cli import main

if __name__ == "__main__":
    *commands, last = json.loads(sys.argv[1])
    for command in commands:
        sys.argv = ["swoop", *command]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    sys.argv = ["swoop", *last]
    main()
