import { dirname } from 'node:path';
import { ts } from 'ts-morph';

const options = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  skipLibCheck: true,
  types: ['node'],
};

/** The names that a file exports, each with the file that declares it. */
export function exportsOf(entry: string): Map<string, string> {
  const program = ts.createProgram([entry], options);
  const checker = program.getTypeChecker();
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)!)!);
  return new Map(
    symbols.map((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return [symbol.name, target.declarations?.[0]?.getSourceFile().fileName ?? ''];
    }),
  );
}

/**
 * Returns for each entry point the types that its declarations name, but that it doesn't export: `startService: Clock`.
 * `packed` is the directory with the package's own declarations; types of libraries and of TypeScript need no export.
 */
export function missingTypes(entries: string[], packed: string): string[][] {
  const program = ts.createProgram(entries, { ...options, typeRoots: [`${dirname(packed)}/node_modules/@types`] });
  const checker = program.getTypeChecker();
  return entries.map((entry) => {
    const entrySymbol = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
    const exported = new Set(checker.getExportsOfModule(entrySymbol).map((symbol) => resolved(symbol)));
    const missing = new Set<string>();
    for (const symbol of exported) {
      for (const declaration of symbol.declarations ?? []) if (isOurs(declaration)) visit(declaration, symbol.name);
    }
    return [...missing].toSorted();

    function visit(node: ts.Node, name: string): void {
      if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node) || ts.isImportTypeNode(node))
        check(node, name);
      ts.forEachChild(node, (child) => visit(child, name));
    }

    function check(
      node: ts.TypeReferenceNode | ts.ExpressionWithTypeArguments | ts.ImportTypeNode,
      name: string,
    ): void {
      const named = ts.isTypeReferenceNode(node)
        ? node.typeName
        : ts.isImportTypeNode(node)
          ? node.qualifier
          : node.expression;
      const symbol = named && checker.getSymbolAtLocation(named);
      if (!symbol) return;
      const target = resolved(symbol);
      const isParameter = (target.flags & ts.SymbolFlags.TypeParameter) !== 0;
      if (!isParameter && !exported.has(target) && target.declarations?.some(isOurs))
        missing.add(`${name}: ${target.name}`);
    }
  });

  function resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }

  function isOurs(declaration: ts.Declaration): boolean {
    return declaration.getSourceFile().fileName.startsWith(packed);
  }
}
