/** A schema as far as it is looked into: one that may be another one made optional or given a default. */
export type Schema = { def: { type: string; innerType?: Schema; shape?: Record<string, Schema>; element?: Schema; valueType?: Schema } };

/** The schema within, which is neither optional nor has a default. */
export function unwrapped(schema: Schema): Schema {
  return schema.def.innerType ? unwrapped(schema.def.innerType) : schema;
}
