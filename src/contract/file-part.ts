import { z } from 'zod';

/** The type of a file in the schema of a multipart body. Client and service replace it by their own types of files. */
export type FilePart = { readonly [isFilePart]: true };
declare const isFilePart: unique symbol;

/** Accepts any value: the client and the service check that it is a file. */
export const filePart = z
  .custom<FilePart>((value) => value !== undefined, 'must be a file')
  .meta({ type: 'string', format: 'binary' });

/** A form field that the hosted service's SDK (`@onkernel/sdk`) can send, but this service refuses with 501. */
export const unsupportedField = z.never().optional();
