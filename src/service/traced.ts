import type { OperationTree } from '../contract/operation.ts';
import type { Spans } from '../tracing/spans.ts';
import type { AppOptions } from './http/app.ts';
import { withTraceHeaders } from './process/trace-headers.ts';

/** Runs a request in a span, if spans are sent. Its calls to machines have the span, or the caller's, as parent. */
export function traced(spans: Promise<Spans> | undefined): NonNullable<AppOptions<OperationTree>['span']> {
  return async (name, parent, act) => {
    if (!spans) return await withTraceHeaders({ traceparent: parent }, act);
    return await (await spans).run({ name, parent }, (headers) => withTraceHeaders(headers, act));
  };
}
