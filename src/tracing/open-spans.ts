import type { Context } from '@opentelemetry/api';
import { type NewSpan, noSpans, type Spans } from './spans.ts';

const packages = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace-base',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
];
const closeMs = 3000;

/**
 * Opens the spans of a process. `root` is the name of a span that contains them all and ends at `close`. `parent` is
 * the `traceparent` of its parent. If packages of OpenTelemetry are missing, prints their names and returns `noSpans`.
 */
export async function openSpans(process: {
  service: string;
  root?: string;
  parent?: string | undefined;
}): Promise<Spans> {
  try {
    return await open(process);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    console.error(
      `playwright-pool: OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces need more packages: npm install ${packages.join(' ')}`,
    );
    return noSpans;
  }
}

async function open({ service, root, parent }: { service: string; root?: string; parent?: string | undefined }) {
  const [{ ROOT_CONTEXT, SpanStatusCode, trace }, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const provider = new sdk.BasicTracerProvider({
    // The variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override this name.
    resource: resources
      .resourceFromAttributes({ 'service.name': service })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('playwright-pool');
  const contextOf = (traceparent: string | undefined): Context | undefined => {
    const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? [];
    if (!traceId || !spanId) return undefined;
    const traceFlags = Number.parseInt(flags!, 16);
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
  };
  const above = contextOf(parent) ?? ROOT_CONTEXT;
  const rootSpan = root === undefined ? undefined : tracer.startSpan(root, {}, above);
  const own = rootSpan ? trace.setSpan(above, rootSpan) : above;

  const start = ({ name, attributes = {}, parent }: NewSpan, startTime?: number) =>
    tracer.startSpan(name, { attributes, ...(startTime !== undefined && { startTime }) }, contextOf(parent) ?? own);
  const spans: Spans = {
    async run(options, act) {
      const span = start(options);
      const { traceId, spanId, traceFlags } = span.spanContext();
      try {
        return await act({ traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` });
      } catch (error) {
        // Send only the error's name: its message may contain URLs or secrets.
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
        throw error;
      } finally {
        span.end();
      }
    },
    note({ from, error, ...options }) {
      const span = start(options, from);
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
    async close() {
      rootSpan?.end();
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<void>((resolve) => void (timer = setTimeout(resolve, closeMs)));
      await Promise.race([provider.shutdown().catch(() => {}), timeout]);
      clearTimeout(timer);
    },
  };
  return spans;
}
