#!/usr/bin/env node
// Receives events of Postrider's hooks (postrider-hook(7)), checks their signatures with the package "standardwebhooks"
// (npm install standardwebhooks), and prints each event once, as a line of JSON with the name that EmailEngine has for it.
//
//     webhook-receiver.mjs ADDRESS PORT SECRET_FILE
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const [address, port, secretFile] = process.argv.slice(2);
const secrets = readFileSync(secretFile, "utf8").split("\n").filter((line) => line.startsWith("whsec_"));
const names = {
  "message.delivered": "messageSent",
  "message.deferred": "messageDeliveryError",
  "message.failed": "messageFailed",
  "message.expired": "messageFailed",
  "message.suppressed": "messageFailed",
};
const seen = new Set(); // a real receiver keeps this where it keeps the events

function verified(body, headers) {
  for (const secret of secrets) {
    try {
      return new Webhook(secret).verify(body, headers);
    } catch {
      // the next one may be right
    }
  }
  return undefined;
}

createServer(async (request, response) => {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  const event = verified(body, request.headers);
  for (const each of event?.type === "batch" ? event.data : event ? [event] : []) {
    const key = `${each.node}.${each.seq}`; // events come at least once
    if (each.seq !== undefined && seen.has(key)) continue;
    seen.add(key);
    console.log(JSON.stringify({ event: names[each.type] ?? "unknown", webhook_id: request.headers["webhook-id"], ...each }));
  }
  response.writeHead(event ? 204 : 401).end();
}).listen(Number(port), address);
