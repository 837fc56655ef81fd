// The search box over the scorecard: rules that have every word of it.

byId("search").addEventListener("input", ({ target: box }) => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const body of document.querySelectorAll("#scorecard tbody")) {
    const heading = body.querySelector(".group")?.textContent.toLowerCase() ?? "";
    let any = false;
    for (const row of body.querySelectorAll("[data-rule], .band-row")) {
      const text = `${heading} ${row.textContent.toLowerCase()}`;
      row.hidden = !words.every((word) => text.includes(word));
      any ||= !row.hidden;
      found += row.hidden || !row.dataset.rule ? 0 : 1;
    }
    body.hidden = !any;
  }
  for (const details of document.querySelectorAll("#scorecard .behind")) {
    details.hidden = details.querySelector("tbody").hidden;
  }
  byId("found").textContent = words.length ? `${found} of ${rules.length} rules` : "";
});
