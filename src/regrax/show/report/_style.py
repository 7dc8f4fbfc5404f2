"""The look of the page, and the small script that shows a point's value beside the pointer."""

STYLE = """
:root{--ink:#1c2024;--soft:#5b6470;--paper:#fcfcfa;--card:#fff;--rule:#e3e5e8;--accent:#0072B2;
--c0:#0072B2;--c1:#D55E00;--c2:#009E73;--c3:#CC79A7;--c4:#B8860B;--c5:#56B4E9;--c6:#444}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3abb5;--paper:#14171a;--card:#1b1f24;--rule:#30363d;
--accent:#56B4E9;--c0:#56B4E9;--c1:#FF8A3D;--c2:#2FCB9B;--c3:#E79FC6;--c4:#E6B800;--c5:#8FD0FF;--c6:#ccc}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:1.2rem;background:var(--paper);color:var(--ink);
font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header{padding:1.5rem 0 .5rem;border-bottom:1px solid var(--rule)}
h1{font-size:clamp(1.6rem,4vw,2.4rem);line-height:1.2;margin:0 0 .6rem;letter-spacing:-.01em}
h2{font-size:1.45rem;margin:2.6rem 0 .6rem;line-height:1.25}
h3{font-size:1rem;margin:0 0 .4rem}
p{max-width:74ch;margin:.5rem 0}
header p{font-size:1.08rem;color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:1rem 0;font-size:.95rem}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1.1rem;margin:1.1rem 0}
figure{margin:0;padding:1rem;background:var(--card);border:1px solid var(--rule);border-radius:10px}
figure.drawing{margin:1.1rem 0}
figcaption{color:var(--soft);font-size:.9rem;margin-top:.5rem}
svg{width:100%;height:auto;display:block;overflow:visible}
svg text{font-size:13px;fill:var(--soft)}svg text.name{fill:var(--ink)}
svg text.strong{fill:var(--ink);font-weight:600}
.grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
polyline{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
polyline.dashed{stroke-dasharray:7 5}
.band{opacity:.18;stroke:none}.hover{fill-opacity:0;cursor:crosshair}.hover:hover{fill-opacity:.45}
.triangle,.box{fill:none;stroke:var(--soft);stroke-width:1.2}.box{fill:var(--card)}
.target{stroke:var(--ink);stroke-width:2;fill:none}.arrow{stroke:var(--soft);stroke-width:1.5;fill:none}
.tip-head{fill:var(--soft)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}.c6{--c:var(--c6)}
polyline,.bar{stroke:var(--c)}.bar{stroke-width:1.6;opacity:.7}.band,.dot,.hover{fill:var(--c)}.tinted{fill:var(--c);fill-opacity:.14;stroke:var(--c)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.88rem;margin-top:.5rem}
.key{display:inline-flex;align-items:center;gap:.4rem}
.key::before{content:"";width:1.4rem;border-top:3px solid var(--c)}
.key.dashed::before{border-top-style:dashed}
.key.points::before{width:.6rem;height:.6rem;border:0;border-radius:50%;background:var(--c)}
.wide{overflow-x:auto;margin:1.1rem 0}
table{border-collapse:collapse;width:100%;font-size:.94rem}
th,td{text-align:left;padding:.45rem .8rem .45rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
th{color:var(--soft);font-weight:600;white-space:nowrap}
td.number{font-variant-numeric:tabular-nums;white-space:nowrap}
td.words{min-width:15rem}
.figures figure:only-child{max-width:46rem}
footer{color:var(--soft);font-size:.88rem;border-top:1px solid var(--rule);margin-top:3rem;padding:1rem 0 2rem}
#tip{position:fixed;pointer-events:none;background:var(--ink);color:var(--paper);padding:.3rem .6rem;border-radius:6px;
font-size:.85rem;max-width:min(22rem,80vw);z-index:9}
@media print{.figures{display:block}figure{break-inside:avoid;margin-bottom:1rem}}
"""

SCRIPT = """
(() => {
  const tip = document.getElementById("tip");
  document.querySelectorAll(".hover").forEach((spot) => {
    const title = spot.querySelector("title");
    const text = title.textContent;
    spot.setAttribute("aria-label", text);
    title.remove();
    spot.addEventListener("pointerenter", () => { tip.textContent = text; tip.hidden = false; });
    spot.addEventListener("pointermove", (event) => {
      const room = innerWidth - tip.offsetWidth - 8;
      tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + "px";
      tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 12) + "px";
    });
    spot.addEventListener("pointerleave", () => { tip.hidden = true; });
  });
})();
"""
