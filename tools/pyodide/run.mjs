// Installs wheels into Pyodide, and runs the Python program of standard input there.
//
// node run.mjs [PACKAGE|WHEEL]... < program.py
//
// A package that is not the path of a wheel is downloaded from the Pyodide distribution.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
const packages = process.argv.slice(2).map((name) => (name.endsWith(".whl") ? resolve(name) : name));
await python.loadPackage(packages, { messageCallback: () => {}, errorCallback: console.error });

// A function that Pyodide lacks would only fail when it is called.
const known = python._module.LDSO.loadedLibsByName.__main__.exports;
const path = python.runPython("import importlib.util; importlib.util.find_spec('sledsim._core').origin");
const core = new WebAssembly.Module(python.FS.readFile(path));
const own = new Set(WebAssembly.Module.exports(core).map(({ name }) => name));
const linked = ["__memory_base", "__table_base"];
const missing = WebAssembly.Module.imports(core).filter(
  ({ name }) => !(name in known) && !own.has(name) && !linked.includes(name),
);
if (missing.length) {
  console.error(`Pyodide lacks these functions of the core: ${missing.map(({ name }) => name).join(", ")}`);
  process.exit(1);
}

try {
  await python.runPythonAsync(readFileSync(0, "utf8"));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
