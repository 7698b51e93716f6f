/** All operations of the hosted service, such as `GET /browsers/{}`, sorted by their paths. */
export function publicOperations(root: string): string[];
