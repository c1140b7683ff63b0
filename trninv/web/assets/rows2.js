import{f as e,m as t}from"./state.js";import{A as n,I as r,M as i,f as a,l as o}from"./words.js";var s=n(`
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
`),c=n(`
  query ClosedIncidents {
    closedIncidents(first: 200) {
      totalCount
      nodes {
        id severity place causes causeCount why who startedAt closedAt closedBy closedWhy
        parts { kind state count }
        chipsLost jobs jobCount
        bandwidthLost { gigabytesPerSecond }
      }
    }
  }
`),l=n(`
  query IncidentNotes($incident: String!) {
    incidentNotes(filter: { incident: { eq: $incident } }, last: 100) { totalCount nodes { writtenAt who text } }
  }
`),u=n(`
  mutation NoteIncident($input: NoteIncidentInput!) { noteIncident(input: $input) { note { writtenAt } } }
`),d=i(s,{}),f=i(c,{}),p=e=>i(l,{incident:e}),m=(e,t,n)=>r({...i(u,{input:{incident:e,text:t,who:n}}),at:``}),h=({parts:e})=>[`down`,`degraded`,`maintenance`].find(t=>e.some(e=>e.state===t))??`down`,g=e=>e.place??e.causes[0]??``,_=e=>/^\d+$/.test(e),v={high:`High`,medium:`Medium`,low:`Low`,info:`Planned`},y=[`server`,`chip`,`switch`,`network_node`,`link`,`nic`];function b(n){let r=new Map;for(let{parts:e}of n){let t=e.some(({kind:e})=>e===`server`);for(let{kind:n,state:i,count:a}of e)t&&[`nic`,`link`].includes(n)||r.set(`${i} ${n}`,(r.get(`${i} ${n}`)??0)+a)}return[`down`,`degraded`,`maintenance`].map(n=>{let i=y.flatMap(t=>{let i=r.get(`${n} ${t}`);return i?[o(i,e(t))]:[]});return i.length?`${i.join(`, `)} ${t(n)}`:``}).filter(Boolean).join(`; `)}function x({parts:n}){let r=new Set(n.map(({state:e})=>e));return[...n].sort((e,t)=>y.indexOf(e.kind)-y.indexOf(t.kind)).map(({kind:n,state:i,count:a})=>o(a,e(n))+(r.size>1?` ${t(i)}`:``)).join(`, `)}var S=({parts:e})=>e.every(({kind:e})=>e===`chip`||e===`switch`)?`NeuronLinks`:e.every(({kind:e})=>e===`link`)?`links`:`NeuronLinks and EFA links`,C=e=>e.split(`/`)[0]??``;function w({where:e,severity:t,cluster:n},r){if(t&&r.severity!==t||n&&C(r.place)!==n)return!1;let i=r.texts.flat().join(`
`).toLowerCase();return e.toLowerCase().split(/\s+/).every(e=>i.includes(e))}var T=(e,t)=>e.filter(e=>(!t.state||h(e)===t.state)&&w(t,{severity:e.severity,place:g(e),texts:[g(e),e.causes,e.why,e.who,e.jobs,e.instances.map(({instance:e,host:t})=>`${e} ${t}`),`#${e.id}`]})),E=(e,t)=>e.filter(e=>{let{severity:n,causes:r,why:i,who:a,closedBy:o,closedWhy:s,id:c}=e,l=g(e);return w(t,{severity:n,place:l,texts:[l,r,i,a,o,s,`#${c}`]})}),D=e=>[...new Set(e.map(e=>C(g(e))))].filter(Boolean).sort(),O=e=>({chips:e.reduce((e,{chipsLost:t})=>e+t,0),bandwidth:e.reduce((e,{bandwidthLost:t})=>e+t.gigabytesPerSecond,0),jobs:new Set(e.flatMap(({jobs:e})=>e)).size}),k=e=>({columns:`id severity place parts cause who since chips_lost gb_per_s_lost jobs`.split(` `),rows:e.map(e=>[e.id,v[e.severity].toLowerCase(),g(e),x(e),e.why,e.who,e.startedAt,e.chipsLost,e.bandwidthLost.gigabytesPerSecond,e.jobs.join(` `)])}),A=e=>({columns:`id severity place causes cause who since closed_at closed_by closed_why`.split(` `),rows:e.map(e=>[e.id,v[e.severity].toLowerCase(),a(g(e)),e.causeCount,e.why,e.who,e.startedAt,e.closedAt,e.closedBy,e.closedWhy])});export{m as _,T as a,x as c,d,v as f,h as g,g as h,E as i,O as l,p as m,D as n,S as o,_ as p,b as r,k as s,A as t,f as u};