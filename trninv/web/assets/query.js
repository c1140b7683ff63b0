import{E as e,a as t,g as n,n as r,r as i,t as a,v as o,w as s,x as c}from"./jsxRuntime.js";import{N as l,b as u,g as d,l as f}from"./words.js";import{r as p}from"./proposal.js";import{t as m}from"./wiring.js";import{r as h}from"./rows.js";import{n as g,t as _}from"./table.js";var v={sql:[{name:`Clusters by size`,text:`SELECT address, system, domains, servers, chips
FROM v_cluster
ORDER BY chips DESC, address`},{name:`Unhealthy parts by change`,text:`SELECT change, min(since) AS since, min(why) AS why, count(*) AS parts
FROM v_unhealthy
GROUP BY change
ORDER BY parts DESC, change`},{name:`Free chips by cluster`,text:`SELECT cluster, count(*) AS free_chips, sum(CASE WHEN state = 'degraded' THEN 1 ELSE 0 END) AS degraded
FROM v_free_chip
GROUP BY cluster
ORDER BY free_chips DESC, cluster`},{name:`Jobs and their failed chips`,text:`SELECT name AS job, cluster, chips, failed_chips, started_at
FROM v_job
WHERE state = 'running'
ORDER BY failed_chips DESC, chips DESC, job`},{name:`Down for more than a week`,text:`SELECT address, at AS since, who, why
FROM v_event
WHERE state = 'down' AND until IS NULL AND at < now() - INTERVAL '7 days'
ORDER BY at`},{name:`Link bandwidth now and when healthy`,text:`SELECT cluster, technology, count(*) AS links, sum(bandwidth_gb_per_s) AS now_gb_per_s,
    sum(nominal_gb_per_s) AS healthy_gb_per_s
FROM v_link
GROUP BY cluster, technology
ORDER BY cluster, technology`}],cypher:[{name:`Chips by cluster and state`,text:`MATCH (c:Chip)
RETURN c.cluster AS cluster, c.state AS state, count(*) AS chips
ORDER BY cluster, state`},{name:`Neighbors of failed chips`,text:`MATCH (c:Chip)-[l:SCALE_UP]-(o:Chip)
WHERE c.state = 'down' AND o.state = 'up'
RETURN c.address AS down, o.address AS neighbor, l.technology AS technology
ORDER BY down, neighbor
LIMIT 100`},{name:`Jobs next to a failed chip`,text:`MATCH (j:Job)-[:ALLOCATED]->(c:Chip)-[:SCALE_UP]-(o:Chip)
WHERE o.state = 'down'
RETURN DISTINCT j.name AS job, c.address AS chip, o.address AS down
ORDER BY job, chip
LIMIT 100`},{name:`Jobs that share a rack`,text:`MATCH (j:Job)-[:ALLOCATED]->(c:Chip), (k:Job)-[:ALLOCATED]->(d:Chip)
WHERE c.rack = d.rack AND j.name < k.name
RETURN DISTINCT c.rack AS rack, j.name AS job, k.name AS neighbor
ORDER BY rack, job, neighbor`},{name:`Servers without an instance`,text:`MATCH (s:Server)
WHERE NOT EXISTS { MATCH (:Instance)-[:RUNS_ON]->(s) }
RETURN s.cluster AS cluster, count(*) AS servers
ORDER BY cluster`},{name:`Chips within three hops`,text:`MATCH (a:Chip)
WITH a ORDER BY a.address LIMIT 1
MATCH (a)-[l:SCALE_UP* SHORTEST 1..3]-(b:Chip)
RETURN a.address AS from_chip, length(l) AS hops, count(DISTINCT b.address) AS chips
ORDER BY hops`}]},y={sql:`SQL`,cypher:`Cypher`},b=4096,x={},S=e=>e==null?null:typeof e==`object`?JSON.stringify(e):e,C=({columns:e,rows:t,truncated:n})=>({columns:e,truncated:n,rows:t.map(t=>e.map(e=>S(t[e])))});function w({options:e}){let n=t(y,e.lang,`sql`);return a(`article`,{children:[a(`header`,{class:`title`,children:[a(`h1`,{children:`Query`}),a(`nav`,{class:`tabs`,"aria-label":`Language`,children:[Object.keys(y).map(e=>a(`a`,{href:i(`query`,``,{lang:e===`sql`?void 0:e}),"aria-current":e===n?`page`:void 0,children:y[e]},e)),a(`a`,{href:`graphql`,children:`GraphiQL`})]})]}),a(E,{language:n,options:e},n)]})}function T(e){let[t,r]=s(),[i,a]=s(!1),u=c(void 0),{asof:d}=n();return o(()=>()=>u.current?.abort(),[]),o(()=>r(void 0),[d]),{outcome:t,isRunning:i,run:t=>{u.current?.abort(),u.current=new AbortController;let{signal:n}=u.current,i=performance.now();a(!0);let o=e=>{n.aborted||(a(!1),r({...e,took:performance.now()-i}))};l(e,{[e]:t},n).then(e=>o({rows:C(e)}),e=>o({error:e}))},stop:()=>{u.current?.abort(),a(!1)}}}function E({language:e,options:t}){let n=v[e],[i,c]=s(t.text??x[e]??n[0]?.text??``),{outcome:l,isRunning:u,run:d,stop:f}=T(e),m=p(),h=n.some(e=>e.text===i);o(()=>{e===`sql`&&h&&d(i)},[]);let g=m&&!m.scopes.includes(`SQL`),_=t=>{x[e]=t,c(t)},S=e=>{if(!e.trim()||g)return;let t=e.length>b?void 0:e;r({text:t,sort:void 0,where:void 0,cols:void 0},!0),d(e)};return a(`div`,{class:`query`,children:[a(`form`,{class:`card editor`,onSubmit:e=>{e.preventDefault(),S(i)},children:[a(`label`,{children:[a(`span`,{class:`unseen`,children:[y[e],` query`]}),a(`textarea`,{name:`query`,rows:9,spellcheck:!1,autocomplete:`off`,autocapitalize:`off`,autocorrect:`off`,wrap:`off`,value:i,onInput:e=>_(e.currentTarget.value),onKeyDown:e=>{e.key===`Enter`&&(e.ctrlKey||e.metaKey)&&S(i)}})]}),a(`div`,{class:`tools`,children:[u?a(`button`,{type:`button`,class:`run`,onClick:f,children:`Stop`}):a(`button`,{type:`submit`,class:`main run`,disabled:!i.trim()||g,children:`Run`}),a(`span`,{class:`quiet keys`,children:`Ctrl+Enter`}),a(`span`,{class:`quiet note`,children:[O[e],`: `,a(`a`,{href:`docs/reference/${e}.html`,children:[y[e],` reference`]})]})]}),g&&a(`p`,{class:`warned`,children:[`Your token has the scope `,m.scope.toLowerCase(),`. To run queries, use one with the scope sql:`,` `,a(`code`,{children:`trninv token create NAME --scope sql`})]})]}),a(D,{examples:n,text:i,choose:e=>{_(e),S(e)}}),a(`div`,{class:`result`,"aria-busy":u,children:[!l&&a(`p`,{class:`quiet`,children:u?`Running…`:`The rows will be here.`}),l&&a(k,{language:e,outcome:l,options:t,isStale:u})]})]})}function D({examples:e,text:t,choose:n}){return m()?a(`label`,{class:`examples menu`,children:[`Example`,` `,a(`select`,{value:e.findIndex(e=>e.text===t),onChange:({currentTarget:{value:r}})=>n(e[Number(r)]?.text??t),children:[a(`option`,{value:-1,disabled:!0,children:`none: your own query`}),e.map((e,t)=>a(`option`,{value:t,children:e.name},e.name))]})]}):a(`section`,{class:`card examples`,"aria-label":`Examples`,children:[a(`h2`,{children:`Examples`}),a(`ul`,{class:`plain`,children:e.map(e=>a(`li`,{children:a(`button`,{type:`button`,class:`plain`,"aria-pressed":e.text===t,onClick:()=>n(e.text),children:e.name})},e.name))})]})}var O={sql:`One read-only SELECT over the views`,cypher:`One read-only query. It needs trninv[graph] on the server, and the first one builds the graph`};function k({language:e,outcome:{rows:t,error:n,took:r},options:i,isStale:o}){return n?a(A,{language:e,error:n}):t?a(`div`,{class:o?`stale`:void 0,children:[t.truncated&&a(`p`,{class:`warned`,children:[`Showing the first `,f(t.rows.length,`row`),`. Add conditions or a LIMIT.`]}),a(j,{name:e,rows:t,options:i,took:r})]}):null}function A({language:e,error:t}){return e!==`cypher`||t.code!==`BAD_USE`?a(u,{error:t}):a(`section`,{class:`card`,"aria-label":`Cypher is not installed`,children:[a(`p`,{class:`failure`,children:[`This service has no Cypher: `,t.message]}),a(`p`,{children:[`On the server, install the `,a(`a`,{href:`docs/how-to/deploy.html#extras`,children:`extra`}),` graph and restart`,` `,a(`code`,{children:`trninv serve`}),`. SQL works without it.`]})]})}function j({name:t,rows:n,options:{sort:r=``,where:i=``,cols:o=``},took:s}){let c={sort:r,where:i,cols:o},l=g(n,c);return a(_,{name:t,all:n,shown:l,view:c,tools:a(e,{children:[a(d,{name:`Copy CSV`,text:()=>h(l)}),a(`span`,{class:`quiet`,children:s<1e3?`${Math.round(s)} ms`:`${(s/1e3).toFixed(1)} s`})]})})}export{w as Query};