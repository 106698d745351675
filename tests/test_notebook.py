"""The example notebook runs from its first cell to its last."""

import ast
import json

from support import ROOT


def test_the_notebook_runs_and_shows_what_it_says():
    cells = json.loads((ROOT / "examples" / "search.ipynb").read_text())["cells"]
    space, shown = {}, []
    for cell in cells:
        if cell["cell_type"] == "code":
            program = ast.parse("".join(cell["source"]))
            last = program.body.pop() if isinstance(program.body[-1], ast.Expr) else None
            exec(compile(program, "search.ipynb", "exec"), space)
            if last is not None:
                shown.append(eval(compile(ast.Expression(last.value), "search.ipynb", "eval"), space))
    assert [repr(found)[:20] for found in shown[:1]] == ["<SearchResult ndr: 9"]
    assert len(shown[-1]) == 5
