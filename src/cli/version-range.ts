/** Whether a version is in a range of package.json, such as `^20.19 || >=22.12` or `>=1.61 <2`. */
export function isIn(range: string, version: string): boolean {
  const [major = 0, minor = 0] = numbersIn(version);
  const fits = (part: string): boolean => {
    const [partMajor = 0, partMinor = 0] = numbersIn(part);
    const reaches = major === partMajor ? minor >= partMinor : major > partMajor && !part.startsWith('^');
    return reaches !== part.startsWith('<');
  };
  return range.split(' || ').some((alternative) => alternative.split(' ').every(fits));
}

function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/\d+/g), Number);
}
