import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { viewFile, viewStyle } from '../../views/view-file.ts';
import { sha256 } from '../process/sha256.ts';

/** The files of the dashboard. Read at the first request, so that the service starts faster. */
export class Assets {
  #files: { script: Asset; style: Asset; libraries: Map<string, Asset> } | undefined;

  get script(): Asset {
    return this.#read().script;
  }

  get style(): Asset {
    return this.#read().style;
  }

  /** By the names that the script imports. */
  get libraries(): ReadonlyMap<string, Asset> {
    return this.#read().libraries;
  }

  named(name: string): Asset | undefined {
    const { script, style, libraries } = this.#read();
    return [script, style, ...libraries.values()].find((asset) => asset.name === name);
  }

  #read() {
    this.#files ??= {
      script: new Asset('js', viewFile('service/dashboard/dashboard.browser.js')),
      style: new Asset('css', libraryFile('uplot/dist/uPlot.min.css') + viewStyle('service/dashboard/dashboard.css')),
      libraries: new Map([
        ['preact', new Asset('js', libraryFile('preact'))],
        ['preact/hooks', new Asset('js', libraryFile('preact/hooks'))],
        ['preact/jsx-runtime', new Asset('js', libraryFile('preact/jsx-runtime'))],
        // Its module is twice as large, because it isn't minified.
        ['uplot', new Asset('js', `${libraryFile('uplot/dist/uPlot.iife.min.js')}\nexport default uPlot;\n`)],
      ]),
    };
    return this.#files;
  }
}

/** A file whose name has a digest of its content, so that browsers keep it. */
export class Asset {
  readonly name: string;
  readonly text: string;
  readonly type: string;
  #gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;

  constructor(extension: 'js' | 'css', text: string) {
    const digest = sha256(text).slice(0, 16);
    this.name = `${digest}.${extension}`;
    this.text = text;
    this.type = `text/${extension === 'js' ? 'javascript' : 'css'}; charset=utf-8`;
  }

  get path(): string {
    return `/dashboard/assets/${this.name}`;
  }

  gzipped(): Promise<Uint8Array<ArrayBuffer>> {
    return (this.#gzipped ??= promisify(gzip)(this.text, { level: 9 }).then((bytes) => new Uint8Array(bytes)));
  }
}

/** A file of a package, without the link to its source map. */
function libraryFile(specifier: string): string {
  const text = readFileSync(fileURLToPath(import.meta.resolve(specifier)), 'utf8');
  return text.replace(/^\/\/# sourceMappingURL=.*$/m, '');
}
