// npm's robots-parser, as run.py asks it: npm install robots-parser, then
//     python run.py "node robots_parser.mjs"
import { createInterface } from "node:readline";
import robotsParser from "robots-parser";

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, input, url } = JSON.parse(line);
  let answer = null;
  if (kind === "allowed" && typeof input.agent === "string") {
    const text = input.robots_txt ?? Buffer.from(input.robots_txt_base64, "base64").toString();
    try {
      const at = new URL("/robots.txt", url).href;
      answer = robotsParser(at, text).isAllowed(url, input.agent) ?? "no answer";
    } catch (error) {
      answer = String(error);
    }
  }
  console.log(JSON.stringify({ answer }));
}
