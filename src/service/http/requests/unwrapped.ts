/** A schema that may be optional or have a default. */
export type Schema = {
  def: { type: string; innerType?: Schema; shape?: Record<string, Schema>; element?: Schema; valueType?: Schema };
};

/** The schema without `optional` and `default`. */
export function unwrapped(schema: Schema): Schema {
  return schema.def.innerType ? unwrapped(schema.def.innerType) : schema;
}
