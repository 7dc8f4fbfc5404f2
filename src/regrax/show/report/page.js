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
