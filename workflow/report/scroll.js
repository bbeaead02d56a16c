"use strict";
// A box that holds more than it shows says so, until its end is reached.
(() => {
  const boxes = [...document.querySelectorAll(".scroll")];
  function tell(box) {
    const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 2;
    box.classList.toggle("more", more);
    box.nextElementSibling.hidden = !more;
  }
  const sizes = new ResizeObserver((changed) => changed.forEach(({ target }) => tell(target)));
  for (const box of boxes) {
    sizes.observe(box);
    box.addEventListener("scroll", () => tell(box), { passive: true });
  }
})();
