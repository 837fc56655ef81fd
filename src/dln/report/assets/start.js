// What needs this script is hidden until it runs.

for (const hidden of document.querySelectorAll(".live[hidden]")) hidden.hidden = false;
setAll(state);
if (ROWS !== null) startRows();
// The model for whoever opens the browser's console: dln.predict({ … }).
globalThis.dln = Object.freeze({ predict, explain, fires, columns, target, predicted });
