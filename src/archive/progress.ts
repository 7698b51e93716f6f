/** The progress of packing or extracting. */
export type Progress = {
  /** Uncompressed bytes of the finished files, without headers. */
  bytes: number;
  /** Finished and started files, directories and links. */
  entries: number;
};

const intervalMs = 100;

/** Counts entries and bytes, and reports them at most ten times a second and once at the end. */
export class ProgressCount {
  readonly #report: ((progress: Progress) => void) | undefined;
  #bytes = 0;
  #entries = 0;
  #reportedAt = 0;

  constructor(report: ((progress: Progress) => void) | undefined) {
    this.#report = report;
  }

  addEntry(): void {
    this.#entries += 1;
    this.#reportInTime();
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    this.#reportInTime();
  }

  end(): void {
    this.#report?.({ bytes: this.#bytes, entries: this.#entries });
  }

  #reportInTime(): void {
    if (this.#report === undefined) return;
    const now = performance.now();
    if (now - this.#reportedAt < intervalMs) return;
    this.#reportedAt = now;
    this.end();
  }
}
