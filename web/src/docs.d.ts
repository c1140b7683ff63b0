// The list of docs pages that vite.config.ts derives from docs/.
declare module "virtual:docs" {
  const pages: [title: string, path: string][];
  export default pages;
}
