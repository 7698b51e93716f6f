import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { DomNode } from '../../chromium/cdp/cdp-protocol.ts';

/** Where the scripts of a frame run: a CDP session and one of its execution contexts. */
export type FrameWorld = { sessionId: string; contextId: number };

/**
 * Gives page/observe.browser.ts the closed shadow roots of the elements that may have one. Only CDP can read them, not
 * scripts. Returns whether any were found.
 */
export async function lookIntoClosedRoots(
  cdp: CdpConnection,
  { sessionId, contextId }: FrameWorld,
  signal: AbortSignal,
): Promise<boolean> {
  const options = { sessionId, signal };
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'document', contextId }, options);
  if (result.objectId === undefined) return false;
  const { node } = await cdp.send('DOM.describeNode', { objectId: result.objectId, depth: -1, pierce: true }, options);
  const closed = closedRootsIn(node);
  const roots = await Promise.all(
    closed.map(async ({ backendNodeId }) => {
      const { object } = await cdp.send('DOM.resolveNode', { backendNodeId, executionContextId: contextId }, options);
      return { objectId: object.objectId };
    }),
  );
  const functionDeclaration = '(...roots) => { login.rememberRoots(...roots); login.noteExamined(); }';
  const remember = { functionDeclaration, executionContextId: contextId, arguments: roots, returnByValue: true };
  await cdp.send('Runtime.callFunctionOn', remember, options);
  return roots.length > 0;
}

function closedRootsIn({ shadowRootType, shadowRoots = [], children = [], ...node }: DomNode): DomNode[] {
  return [...(shadowRootType === 'closed' ? [node] : []), ...[...shadowRoots, ...children].flatMap(closedRootsIn)];
}
