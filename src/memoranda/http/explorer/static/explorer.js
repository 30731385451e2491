"use strict";
// One key for each decision of the first card, and an answer of the chat while it comes.

document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const words = document.querySelector("input[type=search]");
    if (words) { event.preventDefault(); words.focus(); }
    return;
  }
  const wanted = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (wanted) { event.preventDefault(); wanted.click(); }
});

const chat = document.querySelector("form[data-chat]");
if (chat) {
  const log = document.querySelector("#log");
  const add = (kind, text) => {
    const line = document.createElement("div");
    line.className = `line ${kind}`;
    line.dir = "auto";
    line.textContent = text;
    log.append(line);
    line.scrollIntoView({ block: "nearest" });
    return line;
  };
  const show = (event, state) => {
    if (event.kind === "piece") {
      state.answer ??= add("assistant", "");
      state.answer.textContent += event.text;
    } else if (event.kind === "answer") {
      (state.answer ?? add("assistant", "")).textContent = event.text;
    } else if (event.kind === "question") {
      const button = document.createElement("button");
      button.textContent = "Yes";
      button.type = "button";
      button.addEventListener("click", () => { button.remove(); send(event.send); });
      add("question", `${event.text} `).append(button);
    } else {
      add(event.kind, event.text);
    }
  };
  const send = async (text) => {
    add("user", text);
    const body = new URLSearchParams({ csrf: chat.elements.csrf.value, text });
    const state = {};
    chat.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch("/chat", { method: "POST", body });
      if (!answer.ok) { add("error", `${answer.status} ${answer.statusText}: load the page again`); return; }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let left = "";
      for (;;) {
        const { value, done } = await reader.read();
        const lines = (left + (value ?? "")).split("\n");
        left = lines.pop();
        lines.filter(Boolean).forEach((line) => show(JSON.parse(line), state));
        if (done) break;
      }
    } catch {
      add("error", "the connection was lost; what you said is kept");
    } finally {
      chat.removeAttribute("aria-busy");
    }
  };
  chat.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = chat.elements.text.value.trim();
    if (!text || chat.hasAttribute("aria-busy")) return;
    chat.elements.text.value = "";
    send(text);
  });
  chat.elements.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); chat.requestSubmit(); }
  });
}
