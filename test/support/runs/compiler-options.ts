/** The options of `tsc` for the suites of users. */
export const compilerOptions = '--noEmit --strict --module nodenext --target es2023 --types node --skipLibCheck'.split(
  ' ',
);
