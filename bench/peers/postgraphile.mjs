// PostGraphile over the views of schema.sql, without its developer tools. Environment: DATABASE_URL, PORT.
import { createServer } from "node:http"
import { postgraphile } from "postgraphile"
import { makePgService } from "postgraphile/adaptors/pg"
import { grafserv } from "postgraphile/grafserv/node"
import { PostGraphileAmberPreset } from "postgraphile/presets/amber"

const { DATABASE_URL, PORT } = process.env
const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: DATABASE_URL, schemas: ["peer"] })],
  grafserv: { port: Number(PORT), graphiql: false, watch: false },
  grafast: { explain: false },
})
const server = createServer()
await instance.createServ(grafserv).addTo(server)
await instance.getSchema()
server.listen(Number(PORT), "127.0.0.1")
