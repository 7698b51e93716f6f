import { dirname } from 'node:path';
import { ts } from 'ts-morph';

const options = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  skipLibCheck: true,
  types: ['node'],
};

/**
 * The types that files of declarations export. `packed` is the directory with the package's own declarations, beside
 * which is its `node_modules`.
 */
export class PublicTypes {
  readonly #packed: string;
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor(entries: string[], packed: string) {
    this.#packed = packed;
    this.#program = ts.createProgram(entries, { ...options, typeRoots: [`${dirname(packed)}/node_modules/@types`] });
    this.#checker = this.#program.getTypeChecker();
  }

  /** The names that a file exports, each with the file that declares it. */
  exportsOf(entry: string): Map<string, string> {
    const fileOf = (symbol: ts.Symbol) => this.#resolved(symbol).declarations?.[0]?.getSourceFile().fileName ?? '';
    return new Map(this.#exportsOf(entry).map((symbol) => [symbol.name, fileOf(symbol)]));
  }

  /**
   * The types that the declarations of an entry point name, but that it doesn't export: `startService: Clock`. Types of
   * libraries and of TypeScript need no export.
   */
  missingIn(entry: string): string[] {
    const exported = new Set(this.#exportsOf(entry).map((symbol) => this.#resolved(symbol)));
    const missing = new Set<string>();
    const visit = (node: ts.Node, name: string) => {
      const target = this.#typeNamedBy(node);
      const isParameter = target && (target.flags & ts.SymbolFlags.TypeParameter) !== 0;
      if (target && !isParameter && !exported.has(target) && target.declarations?.some(this.#isOurs))
        missing.add(`${name}: ${target.name}`);
      ts.forEachChild(node, (child) => visit(child, name));
    };
    for (const symbol of exported)
      for (const declaration of symbol.declarations?.filter(this.#isOurs) ?? []) visit(declaration, symbol.name);
    return [...missing].toSorted();
  }

  #exportsOf(entry: string): ts.Symbol[] {
    const module = this.#checker.getSymbolAtLocation(this.#program.getSourceFile(entry)!)!;
    return this.#checker.getExportsOfModule(module);
  }

  #typeNamedBy(node: ts.Node): ts.Symbol | undefined {
    let name: ts.Node | undefined;
    if (ts.isTypeReferenceNode(node)) name = node.typeName;
    else if (ts.isImportTypeNode(node)) name = node.qualifier;
    else if (ts.isExpressionWithTypeArguments(node)) name = node.expression;
    const symbol = name && this.#checker.getSymbolAtLocation(name);
    return symbol && this.#resolved(symbol);
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  readonly #isOurs = (declaration: ts.Declaration) => declaration.getSourceFile().fileName.startsWith(this.#packed);
}
