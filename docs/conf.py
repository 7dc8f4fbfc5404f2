"""The site: `make docs`. Cells of pages are run as it is built; one that fails, or any warning, fails the build."""

import logging
import os
import sys
from pathlib import Path

import regrax

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "regrax"
author = copyright = "The regrax developers"
version = release = regrax.__version__
extensions = ["myst_nb", "katex", "api", "listings"]
exclude_patterns = ["_build", "**/_generated", "**/.ipynb_checkpoints"]
suppress_warnings = ["ref.python"]  # a type named in a signature that two packages have

myst_enable_extensions = [
    "amsmath",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "fieldlist",
]
myst_heading_anchors = 3
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False

logging.getLogger("traitlets").setLevel(logging.WARNING)  # every kernel that is started
nb_execution_mode = os.environ.get("REGRAX_DOCS", "force")  # "off": text only
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True
nb_render_markdown_format = "gfm"  # tables
os.environ["REGRAX_DOCS_FOLDER"] = str(HERE)
os.environ["XDG_CACHE_HOME"] = str(HERE / "_build" / "cache")  # what cells and commands compile
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(HERE / "_build" / "cache" / "compiled")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=1"
os.environ["IPYTHONDIR"] = str(HERE / "_ipython")
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["COLUMNS"] = "100"
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

html_theme = "furo"
html_title = f"regrax {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_math_renderer = "katex"
html_copy_source = False
html_show_sourcelink = False


def setup(app):
    """The explorer is a page of its own, beside the others."""
    app.connect("build-finished", _write_explorer)


def _write_explorer(app, error):
    from regrax.show.explorer import page

    if error is None:
        (Path(app.outdir) / "explore.html").write_text(page(), "utf-8")
