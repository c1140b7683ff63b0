// Typo-tolerant matching: how well the words of a query match those of a name.

/** The words of a text, without accents and signs: prod-a/d7 is prod, a, d7. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** Typing errors that a word may have; names and numbers have none, since another number is another thing. */
const allowedTypos = (word: string) => (/\d/.test(word) || word.length < 4 ? 0 : word.length < 8 ? 1 : 2);

/** Letters to insert, delete, replace or swap with their neighbor to turn one word into another. */
function distance(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

function wordScore(typed: string, word: string): number {
  if (word === typed) return 1;
  if (word.startsWith(typed)) return 0.9;
  if (typed.length > 2 && word.includes(typed)) return 0.6;
  const most = allowedTypos(typed);
  if (!most) return 0;
  const beginnings = [-1, 0, 1].map((more) => word.slice(0, typed.length + more));
  const least = Math.min(distance(typed, word), ...beginnings.map((beginning) => distance(typed, beginning)));
  return least <= most ? 0.5 - 0.1 * least : 0;
}

/** How well a query matches a text, from 0 (a word has no match) to 1 (all words are the same). */
export function score(query: string, text: string): number {
  const [typed, words] = [wordsOf(query), wordsOf(text)];
  if (!typed.length) return 0;
  const scores = typed.map((word) => Math.max(0, ...words.map((other) => wordScore(word, other))));
  if (scores.every((each) => each > 0)) return scores.reduce((sum, each) => sum + each, 0) / scores.length;
  // prod a and proda are prod-a
  const [joined, whole] = [typed.join(""), words.join("")];
  return joined.length > 2 && whole.startsWith(joined) ? 0.8 : 0;
}

/** The best score of a query among several texts. */
export const bestScore = (query: string, texts: string[]) => Math.max(0, ...texts.map((text) => score(query, text)));
