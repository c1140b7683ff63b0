// Names for people of what facts are about: trainium2 device_memory_bandwidth is Trainium2, HBM bandwidth.

const WORDS: Record<string, string> = {
  bf16: "BF16",
  cc: "CC",
  cpu: "CPU",
  dma: "DMA",
  ec2: "EC2",
  efa: "EFA",
  fp8: "FP8",
  fp16: "FP16",
  fp32: "FP32",
  gen1: "Gen1",
  gen2: "Gen2",
  hbm: "HBM",
  int8: "INT8",
  mxfp8: "MXFP8",
  neuronlink: "NeuronLink",
  nic: "NIC",
  nics: "EFA devices",
  psum: "PSUM",
  rainier: "Project Rainier",
  sbuf: "SBUF",
  sdk: "SDK",
  tflops: "TFLOPS",
  ultracluster: "UltraCluster",
  ultraclusters: "UltraClusters",
  ultraserver: "UltraServer",
  usd: "USD",
  vcpus: "vCPUs",
};
const PREFIXES: [RegExp, string][] = [
  [/^trainium/, "Trainium"],
  [/^inferentia/, "Inferentia"],
  [/^neuroncore/, "NeuronCore"],
  [/^neuronlink/, "NeuronLink"],
  [/^trn(?=\d)/, "Trn"],
  [/^inf(?=\d)/, "Inf"],
];

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function wordOf(word: string): string {
  const known = WORDS[word];
  if (known) return known;
  const [pattern, start] = PREFIXES.find(([prefix]) => prefix.test(word)) ?? [];
  return pattern ? word.replace(pattern, start ?? "") : word;
}

/** Name a subject: the name of its system, or its key in words; versions keep their hyphen. */
export function subjectName(subject: string, systems: Map<string, string>): string {
  const system = systems.get(subject);
  if (system) return (system.split(":")[0] ?? system).replace(/^One (?=.* server$)/, "");
  return capital(
    subject
      .replace(/-(?!v\d)/g, " ")
      .split(" ")
      .map(wordOf)
      .join(" "),
  );
}

/** Name an attribute without repeating its subject. */
export function attributeName(attribute: string, subject = ""): string {
  const own = attribute.startsWith(`${subject}_`) ? attribute.slice(subject.length + 1) : attribute;
  return capital(
    own
      .replace(/^device_memory/, "hbm")
      .split("_")
      .map(wordOf)
      .join(" "),
  );
}

/** Whether texts contain all words of a filter. */
export function passes(filter: string, texts: string[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
