/** Records the OpenTelemetry spans of a process, and sends them to the address in `OTEL_EXPORTER_OTLP_ENDPOINT`. */
export type Spans = {
  /** Runs `act` in a span. Send `headers` with calls to a service, so that its spans get this one as parent. */
  run<T>(span: NewSpan, act: (headers: Record<string, string>) => Promise<T>): Promise<T>;
  /** Records a span that ends now. It began at `from`, in ms since the epoch. */
  note(span: NewSpan & { from: number; error?: string | undefined }): void;
  /** Sends the remaining spans. Takes 3 s at most. */
  close(): Promise<void>;
};

export type NewSpan = {
  name: string;
  attributes?: Record<string, string | number | boolean>;
  /** The `traceparent` of its parent. Default: the root span of the process. */
  parent?: string | undefined;
};

/** Records nothing. */
export const noSpans: Spans = {
  run: async (_span, act) => await act({}),
  note: () => {},
  close: async () => {},
};
