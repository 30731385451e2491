"use strict";
// The side of the page in MCP Apps: JSON-RPC with the host, and what tools return as a list.

const waiting = new Map();
const search = document.querySelector("[role=search]");
const [query, told, records] = ["#query", "#told", "#records"].map((each) => document.querySelector(each));
let mayCall = false;
let number = 0;

const post = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const ask = (method, params) => new Promise((resolve, reject) => {
  number += 1;
  waiting.set(number, { resolve, reject });
  post({ id: number, method, params });
});

const fill = (item, record) => {
  const shown = {
    ...record,
    event_time: record.event_time?.slice(0, 10),
    certainty: record.confidence < 1 ? `${Math.round(100 * record.confidence)} % sure` : "",
    score: record.score === undefined ? "" : `score ${record.score.toFixed(2)}`,
  };
  for (const place of item.querySelectorAll("[data-is]")) place.textContent = shown[place.dataset.is] ?? "";
  item.querySelector(".actions").hidden = !mayCall || record.type !== "fact";
  for (const button of item.querySelectorAll("[data-tool]")) {
    button.onclick = () => change(item, record, button.dataset.tool, {});
  }
  const words = item.querySelector("textarea");
  words.value = record.content;
  item.querySelector("details button").onclick = () => change(item, record, "correct_fact", { content: words.value });
  return item;
};

const show = (result) => {
  const text = result.content?.map((each) => each.text).join("\n");
  const found = result.structuredContent?.result ?? [result.structuredContent].filter((each) => each?.content);
  if (result.isError) { told.textContent = text; return; }
  told.textContent = found.length ? "" : "Nothing found.";
  const template = document.querySelector("template").content.firstElementChild;
  records.replaceChildren(...found.map((each) => fill(template.cloneNode(true), each)));
};

const call = async (name, given) => {
  try {
    return await ask("tools/call", { name, arguments: given });
  } catch (error) {
    return { isError: true, content: [{ text: error.message }] };
  }
};
const change = async (item, record, name, given) => {
  const result = await call(name, { memory_id: record.id, ...given });
  told.textContent = result.isError ? result.content[0].text : "";
  if (result.isError) return;
  if (name === "forget_memory") item.remove();
  else { item.querySelector("details").open = false; fill(item, result.structuredContent); }
};
// No form: where a host puts the page, forms may not be sent.
const find = async () => { if (query.value.trim()) show(await call("search_memories", { query: query.value })); };
search.querySelector("button").addEventListener("click", find);
query.addEventListener("keydown", (event) => { if (event.key === "Enter") find(); });

const adopt = (context) => { if (context?.theme) document.documentElement.style.colorScheme = context.theme; };
const heard = {
  "ui/notifications/tool-input": (given) => { query.value = given.arguments?.query ?? ""; },
  "ui/notifications/tool-result": show,
  "ui/notifications/host-context-changed": adopt,
};
window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const { resolve, reject } = waiting.get(data.id) ?? {};
    waiting.delete(data.id);
    if (data.error) reject?.(new Error(data.error.message)); else resolve?.(data.result);
  } else if (data.id === undefined) heard[data.method]?.(data.params ?? {});
  else post({ id: data.id, result: {} });
});
ask("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "memoranda", version: "1" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
}).then((host) => {
  adopt(host.hostContext);
  mayCall = Boolean(host.hostCapabilities?.serverTools);
  search.hidden = !mayCall;
  post({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => {
    const { scrollWidth: width, offsetHeight: height } = document.documentElement;
    post({ method: "ui/notifications/size-changed", params: { width, height } });
  }).observe(document.body);
});
