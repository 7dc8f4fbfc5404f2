// every formula of the page; one that KaTeX cannot read is shown as it was written, in red
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".formula")) {
    const displayMode = place.tagName === "DIV";
    katex.render(place.textContent, place, { displayMode, throwOnError: false });
  }
});
