declare module 'parse-prometheus-text-format' {
  type Sample = { labels?: Record<string, string>; value: string };
  export default function parse(text: string): { name: string; metrics: Sample[] }[];
}
