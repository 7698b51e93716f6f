import { z } from 'zod';

/** What stands in a schema for a file of a multipart body; client and service have types of their own for it. */
export type FilePart = { readonly [isFilePart]: true };
declare const isFilePart: unique symbol;

/** Any value is one: what counts is that it came, or is sent, as a file. */
export const filePart = z.custom<FilePart>((value) => value !== undefined, 'must be a file').meta({ type: 'string', format: 'binary' });
