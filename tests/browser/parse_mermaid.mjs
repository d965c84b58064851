// Copyright (c) 2026, stackproof contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Reads Mermaid's diagrams with Mermaid's own parser: node parse_mermaid.mjs [FILE]..., or from standard input.
// Says the kind of each. Ends with 1 where one is not understood.
import { readFileSync } from "node:fs";

import mermaid from "mermaid";

const files = process.argv.length > 2 ? process.argv.slice(2) : [0];
for (const file of files) {
  try {
    const { diagramType } = await mermaid.parse(readFileSync(file, "utf8"));
    console.log(diagramType);
  } catch (error) {
    console.error(`${file || "standard input"}: ${error.message}`);
    process.exitCode = 1;
  }
}
