// Holds what the demo measured to what it is there to show: every question is
// answered from the right file, digits are not looked up, what no file covers is
// said to be unknown, and at least nine of ten lookups began before the end of
// speech and cost their turn at most 1 ms. And what it remembers: the second call
// from a number recalls what the first one taught, and facts that the policy
// forgets, that name a tool or that read like an instruction are refused.
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wrong = report.turns.filter((turn) => !turn.right);
const lookups = report.turns.filter((turn) => turn.lookup_started_ms !== null);
const early = lookups.filter((turn) => turn.lookup_started_ms < 0 && turn.waited_ms <= 1);

for (const turn of wrong) {
  console.error(`call ${turn.call}, turn ${turn.turn}: "${turn.question}" got "${turn.answer}" from ${turn.sources}`);
}
console.log(`${report.turns.length - wrong.length} of ${report.turns.length} turns right, ${early.length} of ${lookups.length} lookups early`);
if (wrong.length > 0 || report.turns.length < 14 || early.length < 0.9 * lookups.length) {
  process.exit(1);
}

const [first, second] = ["es-1", "es-2"].map((script) => report.calls.find((call) => call.script === script));
const taught = first.taught ?? [];
const reasons = new Set((first.refused ?? []).map((fact) => fact.reason));
const recalled = report.turns
  .filter((turn) => turn.call === second.script)
  .flatMap((turn) => turn.recalled ?? [])
  .filter((fact) => fact.source === first.id && taught.some((one) => one.text === fact.text));
console.log(`${taught.length} facts taught, ${reasons.size} kinds refused, ${recalled.length} recalled by the second call`);
if (taught.length === 0 || recalled.length === 0 || !["forget", "tool", "instruction"].every((reason) => reasons.has(reason))) {
  process.exit(1);
}
