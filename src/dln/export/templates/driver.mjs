// Object.fromEntries makes own properties of any name; an object literal would take "__proto__" for something else.
import { predict } from "./model.mjs";
const names = «names»;
const columns = [«columns»];
const row = (i) => Object.fromEntries(names.map((name, j) => [name, columns[j][i]]));
const rows = Array.from({ length: «n_rows» }, (_, i) => row(i));
console.log(JSON.stringify(rows.map(predict)));
