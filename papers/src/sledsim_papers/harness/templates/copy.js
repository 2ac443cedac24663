(() => {
  "use strict";
  // Copy the command beside a button; a page from disk may not write to the clipboard, so it is marked for Ctrl-C too.
  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const command = button.previousElementSibling;
      getSelection().selectAllChildren(command);
      navigator.clipboard?.writeText(command.textContent).then(
        () => { button.textContent = "copied"; },
        () => { button.textContent = "press Ctrl-C"; },
      );
    });
  });
})();
