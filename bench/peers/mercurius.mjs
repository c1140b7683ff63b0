// Mercurius with graphql-jit, written for speed: prepared statements, joins for single objects, loaders for lists.
// Environment: DATABASE_URL, PORT.
import Fastify from "fastify"
import mercurius from "mercurius"
import pg from "pg"

const { DATABASE_URL, PORT } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL })

const schema = `
  type Query { chips(first: Int!): [Chip!]! }
  type Chip {
    id: ID! address: String! ordinal: Int! state: String! memory: Memory! server: Server! links: [Link!]!
  }
  type Memory { gibibytes: Float! }
  type Server { address: String! state: String! rack: Rack! }
  type Rack { address: String! }
  type Link { technology: String! scope: String! nominal: Bandwidth! }
  type Bandwidth { gigabytesPerSecond: Float! }
`

// the limit is a literal, so that PostgreSQL plans once for this limit
const chips = (first) => `
  SELECT chip.id, chip.ordinal, upper(node.state) AS state,
    chip_model.device_memory_bytes::double precision / 1073741824 AS gibibytes,
    cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal AS server,
    upper(server.state) AS server_state, cluster.slug || '/r' || rack.ordinal AS rack
  FROM chip JOIN node ON node.id = chip.id JOIN chip_model ON chip_model.id = chip.chip_model_id
  JOIN server ON server.id = chip.server_id JOIN domain ON domain.id = server.domain_id
  JOIN cluster ON cluster.id = domain.cluster_id JOIN rack ON rack.id = server.rack_id
  ORDER BY chip.id LIMIT ${first}`

const links = `
  SELECT chip_id, technology, upper(scope) AS scope, bandwidth_bytes_per_s::double precision / 1000000000 AS rate
  FROM (SELECT a_id AS chip_id, id, technology, scope, bandwidth_bytes_per_s FROM link WHERE a_id = ANY($1)
    UNION ALL SELECT b_id, id, technology, scope, bandwidth_bytes_per_s FROM link WHERE b_id = ANY($1)) AS either
  ORDER BY id`

const resolvers = {
  Query: {
    async chips(_, { first }) {
      const { rows } = await pool.query({ name: `chips${Number(first)}`, text: chips(Number(first)) })
      return rows.map((row) => ({
        id: row.id,
        address: `${row.server}/c${row.ordinal}`,
        ordinal: row.ordinal,
        state: row.state,
        memory: { gibibytes: row.gibibytes },
        server: { address: row.server, state: row.server_state, rack: { address: row.rack } },
      }))
    },
  },
}

const loaders = {
  Chip: {
    links: {
      async loader(queries) {
        const found = new Map(queries.map(({ obj }) => [obj.id, []]))
        const { rows } = await pool.query({ name: "links", text: links, values: [[...found.keys()]] })
        for (const { chip_id, technology, scope, rate } of rows)
          found.get(chip_id).push({ technology, scope, nominal: { gigabytesPerSecond: rate } })
        return queries.map(({ obj }) => found.get(obj.id))
      },
      opts: { cache: false },
    },
  },
}

const app = Fastify()
app.register(mercurius, { schema, resolvers, loaders, jit: 1, graphiql: false })
await app.listen({ port: Number(PORT), host: "127.0.0.1" })
