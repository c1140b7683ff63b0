// Line icons of 20 by 20.
const PATHS = {
  fleet: "M3 3h5v5H3zm9 0h5v5h-5zM3 12h5v5H3zm9 0h5v5h-5z",
  incidents: "M10 3l7.5 14h-15zM10 8v4m0 2.2v.6",
  jobs: "M3 7h14v10H3zM7 7V4h6v3M3 12h14",
  compare: "M6 3v14M14 3v14M3 7h6m2 6h6",
  reports: "M4 2.5h9l3 3v12H4zM7 9h6m-6 3h6m-6 3h4",
  docs: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7.8 8.2a2.2 2.2 0 1 1 3.3 2c-.8.5-1.1.9-1.1 1.6m0 2v.4",
  sources: "M10 4v13M10 4C8 3 5 3 3 3.5V16c2-.5 5-.5 7 1 2-1.5 5-1.5 7-1V3.5C15 3 12 3 10 4",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zm4.5-1.5L18 18",
  system: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  light:
    "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 1v2m0 14v2M1 10h2m14 0h2M3.6 3.6L5 5m10 10l1.4 1.4M3.6 16.4L5 15m10-10l1.4-1.4",
  dark: "M16 12.5A7 7 0 0 1 7.5 4 7 7 0 1 0 16 12.5z",
  query: "M3 4h14v12H3zM6 8l2.5 2.2L6 12.4M10 12.5h4",
  share: "M12 4l4 4-4 4m4-4H9c-3.5 0-5 2-5 6v1",
  download: "M10 3v9m-3.5-3.5L10 12l3.5-3.5M4 16.5h12",
  close: "M5 5l10 10m0-10L5 15",
  path: "M3 6h11m-3-3l3 3-3 3M17 14H6m3-3l-3 3 3 3",
  time: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.5l3 2",
};
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
