import { z } from 'zod';

/** The type of a file in the schema of a multipart body. Client and service replace it by their own types. */
export type FilePart = { readonly [isFilePart]: true };
declare const isFilePart: unique symbol;

/** Accepts any value: the client and the service check that it is a file. */
export const filePart = z
  .custom<FilePart>((value) => value !== undefined, 'must be a file')
  .meta({ type: 'string', format: 'binary' });

/** A field of the hosted service's forms that the service answers with 501. */
export const leftOutField = z.never().optional();
