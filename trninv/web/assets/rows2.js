import{d as e,p as t}from"./state.js";import{F as n,f as r,j as i,k as a,l as o}from"./words.js";var s=a(`
  query Incidents {
    incidents(first: 200) {
      totalCount
      edges {
        cursor
        node {
          id rule severity place causes causeCount independentFailures startedAt who why source truncated
          chipsLost jobs jobCount
          bandwidthLost { gigabytesPerSecond }
          parts { kind state count }
          lastChange { time who why }
          instances { server instance host }
          findings { id rule address observed }
        }
      }
    }
  }
`),c=a(`
  query ClosedIncidents {
    closedIncidents(first: 200) {
      totalCount
      nodes { id severity place causes causeCount why who startedAt closedAt closedBy closedWhy }
    }
  }
`),l=a(`
  query IncidentNotes($incident: String!) {
    incidentNotes(filter: { incident: { eq: $incident } }, last: 100) { totalCount nodes { writtenAt who text } }
  }
`),u=a(`
  mutation NoteIncident($input: NoteIncidentInput!) { noteIncident(input: $input) { note { writtenAt } } }
`),d=i(s,{}),f=i(c,{}),p=e=>i(l,{incident:e}),m=(e,t,r)=>n({...i(u,{input:{incident:e,text:t,who:r}}),at:``}),h=({parts:e})=>[`down`,`degraded`,`maintenance`].find(t=>e.some(e=>e.state===t))??`down`,g=e=>e.place??e.causes[0]??``,_={high:`High`,medium:`Medium`,low:`Low`,info:`Planned`},v=[`server`,`chip`,`switch`,`network_node`,`link`,`nic`];function y(n){let r=new Map;for(let{parts:e}of n){let t=e.some(({kind:e})=>e===`server`);for(let{kind:n,state:i,count:a}of e)t&&[`nic`,`link`].includes(n)||r.set(`${i} ${n}`,(r.get(`${i} ${n}`)??0)+a)}return[`down`,`degraded`,`maintenance`].map(n=>{let i=v.flatMap(t=>{let i=r.get(`${n} ${t}`);return i?[o(i,e(t))]:[]});return i.length?`${i.join(`, `)} ${t(n)}`:``}).filter(Boolean).join(`; `)}function b({parts:n}){let r=new Set(n.map(({state:e})=>e));return[...n].sort((e,t)=>v.indexOf(e.kind)-v.indexOf(t.kind)).map(({kind:n,state:i,count:a})=>o(a,e(n))+(r.size>1?` ${t(i)}`:``)).join(`, `)}var x=e=>e.split(`/`)[0]??``;function S({where:e,severity:t,cluster:n},r){if(t&&r.severity!==t||n&&x(r.place)!==n)return!1;let i=r.texts.flat().join(`
`).toLowerCase();return e.toLowerCase().split(/\s+/).every(e=>i.includes(e))}var C=(e,t)=>e.filter(e=>(!t.state||h(e)===t.state)&&S(t,{severity:e.severity,place:g(e),texts:[g(e),e.causes,e.why,e.who,e.jobs,e.instances.map(({instance:e,host:t})=>`${e} ${t}`),`#${e.id}`]})),w=(e,t)=>e.filter(e=>{let{severity:n,causes:r,why:i,who:a,closedBy:o,closedWhy:s,id:c}=e,l=g(e);return S(t,{severity:n,place:l,texts:[l,r,i,a,o,s,`#${c}`]})}),T=e=>[...new Set(e.map(e=>x(g(e))))].filter(Boolean).sort(),E=e=>({chips:e.reduce((e,{chipsLost:t})=>e+t,0),bandwidth:e.reduce((e,{bandwidthLost:t})=>e+t.gigabytesPerSecond,0),jobs:new Set(e.flatMap(({jobs:e})=>e)).size}),D=e=>({columns:`id severity place parts cause who since chips_lost gb_per_s_lost jobs`.split(` `),rows:e.map(e=>[e.id,_[e.severity].toLowerCase(),g(e),b(e),e.why,e.who,e.startedAt,e.chipsLost,e.bandwidthLost.gigabytesPerSecond,e.jobs.join(` `)])}),O=e=>({columns:`id severity place causes cause who since closed_at closed_by closed_why`.split(` `),rows:e.map(e=>[e.id,_[e.severity].toLowerCase(),r(g(e)),e.causeCount,e.why,e.who,e.startedAt,e.closedAt,e.closedBy,e.closedWhy])});export{C as a,E as c,_ as d,p as f,m as h,w as i,f as l,h as m,T as n,D as o,g as p,y as r,b as s,O as t,d as u};