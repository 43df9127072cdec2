#!/usr/bin/env bash
# mingo 7.2.7 and sift 17.1.4, npm. Both say that they filter objects by MongoDB's query language. sift takes a date for the number of its
# milliseconds and a number for a date; mingo keeps them apart, as MongoDB does. $all of a single value, $gte: null and $type hold of a
# plain field, a missing one and an array with such an element in sift and MongoDB, not in mingo. One filter has two answers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --prefix "$folder" mingo@7.2.7 sift@17.1.4 >/dev/null
cd "$folder"
node - >seen <<'NODE'
const sift = require("sift").default;
const {Query} = require("mingo");
const day = new Date("2024-01-01");
const events = [
  {id: 1, t: day, tags: "dns"}, {id: 2, t: Number(day), tags: ["dns", "tcp"]}, {id: 3, t: new Date("2024-01-02"), tags: null}, {id: 4, t: null},
];
const ids = (holds) => JSON.stringify(events.filter(holds).map((event) => event.id));
for (const filter of [
  {t: day}, {t: {$ne: day}}, {t: {$lte: day}}, {t: {$gte: Number(day)}}, {tags: {$all: ["dns"]}}, {tags: {$type: "string"}}, {tags: {$gte: null}},
]) {
  console.log(`${JSON.stringify(filter)}: sift ${ids(sift(filter))}, mingo ${ids((event) => new Query(filter).test(event))}`);
}
NODE
cat seen
diff seen - <<'SEEN'
{"t":"2024-01-01T00:00:00.000Z"}: sift [1,2], mingo [1]
{"t":{"$ne":"2024-01-01T00:00:00.000Z"}}: sift [3,4], mingo [2,3,4]
{"t":{"$lte":"2024-01-01T00:00:00.000Z"}}: sift [1,2], mingo [1]
{"t":{"$gte":1704067200000}}: sift [1,2,3], mingo [2]
{"tags":{"$all":["dns"]}}: sift [1,2], mingo [2]
{"tags":{"$type":"string"}}: sift [1,2], mingo [1]
{"tags":{"$gte":null}}: sift [3,4], mingo [3]
SEEN
