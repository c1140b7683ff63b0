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
  gen5: "Gen5",
  gen6: "Gen6",
  hbm: "HBM",
  int8: "INT8",
  jax: "JAX",
  mxfp8: "MXFP8",
  neuronlink: "NeuronLink",
  nic: "NIC",
  nics: "EFA devices",
  nvme: "NVMe",
  pcie: "PCIe",
  psum: "PSUM",
  pytorch: "PyTorch",
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
  [/^neuronswitch/, "NeuronSwitch"],
  [/^trn(?=\d)/, "Trn"],
  [/^inf(?=\d)/, "Inf"],
];

/** Names that their keys do not spell. */
const NAMES: Record<string, string> = {
  "nccom-test": "nccom-test",
  neuronlink_inter_bandwidth: "NeuronLink bandwidth to other servers",
  neuronlink_intra_bandwidth: "NeuronLink bandwidth within the server",
  neuronlink_rack_bandwidth: "NeuronLink bandwidth to the rack’s switch",
};

/** Capitalize a text whose first word has no capital, as vCPUs has. */
const capital = (text: string) => text.replace(/^[a-z](?=[a-z]*(?![A-Za-z]))/, (letter) => letter.toUpperCase());

function wordOf(word: string): string {
  const known = WORDS[word];
  if (known) return known;
  const [pattern, start] = PREFIXES.find(([prefix]) => prefix.test(word)) ?? [];
  return pattern ? word.replace(pattern, start ?? "") : word;
}

/** Name a subject: the name of its system, or its key in words; versions keep their hyphen. */
export function subjectName(subject: string, systems: Map<string, string>): string {
  const system = NAMES[subject] ?? systems.get(subject);
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
  return (
    NAMES[own] ??
    capital(
      own
        .replace(/^device_memory/, "hbm")
        .replace(/^inter_(?=rack|server)/, "inter-")
        .split("_")
        .map(wordOf)
        .join(" "),
    )
  );
}

/** What rows of numbers are about, in the order of the page; a row is of the first topic that matches. */
export const TOPICS: [name: string, attributes: RegExp][] = [
  ["Memory", /memory|hbm|sbuf|psum|nvme|dma/],
  ["Compute", /compute(?!_tray)|engine|systolic|^cores$|vcpus|dies|rounding|cc_cores|core_model/],
  [
    "Network",
    /link|efa|nics|bandwidth|interconnect|lane|latency|topology|switch|network|routing|blocking|ports|fabric/,
  ],
  ["Layout", /chips|servers|racks|rack_|tray|packaging|power|numbering/],
  ["Other", /./],
];

export const topicOf = (attribute: string) => TOPICS.find(([, attributes]) => attributes.test(attribute))?.[0] ?? "";

/** Whether texts contain all words of a filter. */
export function passes(filter: string, texts: string[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
