/** @throws Error on Windows, whose processes and files the service can't handle. */
export function refuseWindows(): void {
  if (process.platform === 'win32')
    throw new Error(
      "The service doesn't run on Windows. Use one on Linux: set PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY, or run the tests in WSL.",
    );
}
